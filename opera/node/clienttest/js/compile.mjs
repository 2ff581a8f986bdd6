import { readFileSync, writeFileSync } from 'node:fs'
import solc from 'solc'
const [source, out] = process.argv.slice(2)
const input = { language: 'Solidity', sources: { 'exhibit.sol': { content: readFileSync(source, 'utf8') } },
  settings: { evmVersion: 'london', optimizer: { enabled: true, runs: 200 }, metadata: { bytecodeHash: 'none', appendCBOR: false }, outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } } }
const output = JSON.parse(solc.compile(JSON.stringify(input)))
for (const e of output.errors ?? []) if (e.severity === 'error') throw new Error(e.formattedMessage)
const { abi, evm } = output.contracts['exhibit.sol'].Exhibit
const lines = abi.map((entry) => '    ' + JSON.stringify(entry)).join(',\n')
writeFileSync(out, `{\n  "abi": [\n${lines}\n  ],\n  "bytecode": "0x${evm.bytecode.object}"\n}\n`)
