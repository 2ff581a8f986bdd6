module lineprotocol

go 1.26
