module stdiorpc

go 1.26
