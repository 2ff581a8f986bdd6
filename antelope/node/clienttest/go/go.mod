module clients

go 1.26

require github.com/eoscanada/eos-go v0.10.2
