package p2p

import "testing"

// A line about a peer begins as peer-log-format says, with each variable that nodeos of Leap or Spring has.
func TestLinesAboutAPeerBeginAsTheOperatorWants(t *testing.T) {
	p := &peerLog{id: 7, remoteIP: "1.2.3.4", remotePort: "9876", localIP: "5.6.7.8", localPort: "1234",
		format: "${_peer}|${_name}|${_cid}|${_sid}|${_ip}:${_port}|${_lip}:${_lport}|${_agent}|${_nver}|${_other}|${"}
	p.setName("peer:9876 - abc")
	p.setPeerID([32]byte{0xab, 0xcd, 0xef, 0x12})
	const rest = "|peer:9876 - abc|7|abcdef1|1.2.3.4:9876|5.6.7.8:1234|"
	if got, want := p.prefix(), "peer:9876 - abc"+rest+"|0|${_other}|${"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	p.dialled = "dialled:1"
	p.setProgram(`"Spring Agent of`+"\n"+`somebody"`, 10)
	if got, want := p.prefix(), "dialled:1"+rest+"Spring Agent of|10|${_other}|${"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	p.setProgram(`"`, 10)
	if got, want := p.prefix(), "dialled:1"+rest+`"|10|${_other}|${`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
