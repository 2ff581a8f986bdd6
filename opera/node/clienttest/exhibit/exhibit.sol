// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.21;

/// What the clients of the tests deploy and call: a token of the usual kind, and all forms in
/// which a contract answers, tells and refuses.
contract Exhibit {
    struct Entry {
        uint64 number;
        string text;
        bytes32[] marks;
    }

    string public constant name = "Exhibit";
    string public constant symbol = "EXH";
    uint8 public constant decimals = 18;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    Entry[] internal entries;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Noted(uint256 indexed number, string indexed key, string text, bytes data);
    event Plain();
    event Received(address from, uint256 value) anonymous;

    error Insufficient(address owner, uint256 has, uint256 wants);

    constructor(uint256 supply) payable {
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    receive() external payable {
        emit Received(msg.sender, msg.value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(allowance[from][msg.sender] >= value, "Exhibit: not so much is allowed");
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }

    function move(address from, address to, uint256 value) internal {
        if (balanceOf[from] < value) revert Insufficient(from, balanceOf[from], value);
        unchecked {
            balanceOf[from] -= value;
            balanceOf[to] += value;
        }
        emit Transfer(from, to, value);
    }

    function note(uint64 number, string calldata text, bytes32[] calldata marks) external returns (uint256) {
        entries.push(Entry(number, text, marks));
        emit Noted(number, text, text, abi.encode(marks));
        emit Plain();
        return entries.length;
    }

    function entry(uint256 at) external view returns (Entry memory) {
        return entries[at];
    }

    /// Several events in one transaction.
    function shower(uint256 count) external {
        for (uint256 i = 0; i < count; i++) emit Transfer(msg.sender, address(uint160(i + 1)), i);
    }

    function fail(string calldata reason) external pure {
        revert(reason);
    }

    function silent() external pure {
        revert();
    }

    function divide(uint256 by) external pure returns (uint256) {
        return 1000 / by;
    }

    function spin() external view returns (uint256 i) {
        while (gasleft() > 0) i++;
    }

    /// What a contract sees around it that is the same on each chain of a kind.
    function around() external payable returns (uint256 chain, address sender, uint256 value, uint256 limit) {
        return (block.chainid, msg.sender, msg.value, block.gaslimit);
    }

    function destroy(address payable to) external {
        selfdestruct(to);
    }
}
