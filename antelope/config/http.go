package config

func http() []Option {
	return []Option{
		{Name: "unix-socket-path", Kind: Text,
			Help: "Unix socket, absolute or in data-dir, on which the API is served; empty for none."},
		{Name: "http-server-address", Kind: Text, Default: "127.0.0.1:8888",
			Help: "Address on which the API is served; empty for none, http-category-address for those of that option."},
		{Name: "http-category-address", Kind: Texts,
			Help: "An address for one category of the API, as category,address.\n" +
				"Categories: chain_ro, chain_rw, db_size, net_ro, net_rw, producer_ro, producer_rw, snapshot, " +
				"trace_api, prometheus, test_control.\n" +
				"The address is host:port, or a unix socket that begins with '/', './' or '../' (the last two in " +
				"data-dir).\nCategories may share an address. Two addresses with one port must name the same host.\n" +
				"Examples:\n    chain_ro,127.0.0.1:8080\n    net_rw,[::1]:8082\n    producer_rw,./producer.sock\n    " +
				"trace_api,:8086 for all interfaces"},
		{Name: "access-control-allow-origin", Kind: Text, Help: "Access-Control-Allow-Origin of every answer"},
		{Name: "access-control-allow-headers", Kind: Text, Help: "Access-Control-Allow-Headers of every answer"},
		{Name: "access-control-max-age", Kind: Text, Help: "Access-Control-Max-Age of every answer"},
		{Name: "access-control-allow-credentials", Kind: Switch,
			Help: "Answer with Access-Control-Allow-Credentials: true"},
		{Name: "max-body-size", Kind: Uint32, Default: "2097152",
			Help: "The most that the body of a request may take, in bytes"},
		{Name: "http-max-bytes-in-flight-mb",
			Kind: Int64, Default: "500",
			Help: "The most memory for all requests that are being answered, decoded bodies included, in MiB; -1 for " +
				"no limit. Above it the answer is 503."},
		{Name: "http-max-in-flight-requests",
			Kind: Int32, Default: "-1",
			Help: "The most requests that are answered at the same time; -1 for as many as there may be connections, " +
				"16,384. Above it the answer is 503."},
		{Name: "http-max-response-time-ms", Kind: Int64, Default: "15",
			Help: "How long a request may take, in ms; -1 for no bound"},
		{Name: "verbose-http-errors", Kind: Switch, Help: "Answer errors with all details"},
		{Name: "http-validate-host", Kind: Bool, Default: "true",
			Help: "Refuse requests whose Host header does not name this server"},
		{Name: "http-alias", Kind: Texts, Composing: true,
			Help: "Another Host header that names this server, besides http-server-address; may be given many times."},
		{Name: "http-threads", Kind: Uint16, Default: "2", Help: "Threads that serve the API", Instead: goroutines},
		{Name: "http-keep-alive", Kind: Bool, Default: "true", Help: "Keep connections open if clients ask for it"},
	}
}
