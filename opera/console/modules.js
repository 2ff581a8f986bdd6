// What the console has beside web3.js: the namespaces of an Opera node, with the names and
// conversions of go-opera's console. It is a function of the transport to the node, of the
// namespaces that the node serves, and of what the program around does for it.
(function (transport, served, host) {
	'use strict';
	var global = Function('return this')();
	var Web3 = require('web3');
	var extend = new Web3(transport)._extend;
	var formatters = extend.formatters, utils = extend.utils;

	// The library is older than some fields. It looks its conversions up each time that its
	// parts are made, so they are added to before that.
	function after(name, change) {
		var before = formatters[name];
		formatters[name] = function (value) {
			value = before(value);
			if (value) {
				change(value);
			}
			return value;
		};
	}
	function convert(object, names, to) {
		names.forEach(function (name) {
			if (object[name] !== undefined) {
				object[name] = to(object[name]);
			}
		});
	}
	var fees = ['maxFeePerGas', 'maxPriorityFeePerGas'];
	function large(names) {
		return function (object) { convert(object, names, utils.toBigNumber); };
	}
	after('outputTransactionFormatter', large(fees));
	after('outputTransactionReceiptFormatter', large(['effectiveGasPrice']));
	after('outputBlockFormatter', function (block) {
		large(['baseFeePerGas'])(block);
		block.timestampNano = utils.toDecimal(block.timestampNano);
		if (utils.isArray(block.transactions)) {
			block.transactions.forEach(function (tx) {
				if (!utils.isString(tx)) {
					large(fees)(tx);
				}
			});
		}
	});
	['inputCallFormatter', 'inputTransactionFormatter'].forEach(function (name) {
		after(name, function (options) { convert(options, fees, utils.fromDecimal); });
	});

	// The names of amounts of FTM.
	var units = {
		noftm: 'noether', femtoftm: 'kwei', picoftm: 'mwei', nanoftm: 'gwei', microftm: 'szabo', milliftm: 'finney',
		ftm: 'ether', kftm: 'kether', mftm: 'mether', gftm: 'gether', tftm: 'tether'
	};
	['toWei', 'fromWei'].forEach(function (name) {
		var before = Web3.prototype[name];
		Web3.prototype[name] = function (number, unit) {
			return before.call(this, number, units[String(unit).toLowerCase()] || unit);
		};
	});
	Web3.prototype.toMoniker = function (name, description, webSite) {
		return utils.toHex({Name: name, Description: description, WebSite: webSite});
	};

	var web3 = global.web3 = new Web3(transport);
	global.Web3 = Web3;
	global.BigNumber = web3.toBigNumber(0).constructor;

	// ftm is what the library calls eth. It asks the node under that name, too.
	var ftm = web3.ftm = Object.create(Object.getPrototypeOf(web3.eth));
	Object.getOwnPropertyNames(web3.eth).forEach(function (name) {
		if (name !== 'mining' && name !== 'getMining') {
			Object.defineProperty(ftm, name, Object.getOwnPropertyDescriptor(web3.eth, name));
		}
	});

	// add gives a namespace methods, each a list: name, number of parameters, their
	// conversions, the result's conversion, another name at the node.
	function add(property, methods, properties) {
		web3._extend({
			property: property,
			methods: methods.map(function (m) {
				return new web3._extend.Method({
					name: m[0], params: m[1], inputFormatter: m[2] || filled(m[1]), outputFormatter: m[3], call: m[4] || property + '_' + m[0]
				});
			}),
			properties: (properties || []).map(function (p) {
				return new web3._extend.Property({name: p[0], outputFormatter: p[1], getter: p[2] || property + '_' + p[0]});
			})
		});
	}
	function filled(n) {
		var list = [];
		while (list.length < n) {
			list.push(null);
		}
		return list;
	}
	function simple(text) { // name:parameters, with blanks between
		return text.split(' ').map(function (m) { return [m.split(':')[0], Number(m.split(':')[1])]; });
	}
	function eachTo(to) {
		return function (object) {
			Object.keys(object).forEach(function (name) { object[name] = to(object[name]); });
			return object;
		};
	}
	function keysToNumbers(to) {
		return function (object) {
			var result = {};
			Object.keys(object).forEach(function (name) { result[utils.toDecimal(name)] = to(object[name]); });
			return result;
		};
	}
	function print(text) { console.log(text); }
	function same(value) { return value; }
	var number = utils.toDecimal, hex = utils.toHex, big = formatters.outputBigNumberFormatter;
	var block = formatters.inputBlockNumberFormatter, defaultBlock = formatters.inputDefaultBlockNumberFormatter;
	var address = formatters.inputAddressFormatter, sent = formatters.inputTransactionFormatter;

	function event(e) {
		convert(e, ['epoch', 'seq', 'frame', 'creator', 'lamport', 'creationTime', 'medianTime', 'gasPowerUsed', 'size'], number);
		convert(e.gasPowerLeft, ['shortTerm', 'longTerm'], number);
		if (utils.isArray(e.transactions)) {
			e.transactions.forEach(function (tx, i) {
				if (!utils.isString(tx)) {
					e.transactions[i] = formatters.outputTransactionFormatter(tx);
				}
			});
		}
		return e;
	}
	function perSecond(times) { // transactions of blocks, by when they were made in nanoseconds
		var at = Object.keys(times).map(number), all = 0;
		Object.keys(times).forEach(function (t) { all += number(times[t]); });
		var span = Math.max.apply(null, at) - Math.min.apply(null, at);
		return span > 0 ? all * 1e9 / span : 0;
	}
	function epochStats(stats) {
		convert(stats, ['epoch', 'start', 'end'], number);
		convert(stats, ['totalBaseRewardWeight', 'totalFee', 'totalTxRewardWeight'], utils.toBigNumber);
		return stats;
	}
	add('ftm', [
		['getEvent', 2], ['getEventHeader', 1], ['getHeads', 1, [block]], ['getConsensusTime', 1, null, number],
		['currentEpoch', 0, null, number], ['getEpochStats', 1, [block], epochStats]
	]);
	add('abft', [['getDowntime', 1, [hex], eachTo(number)], ['getEpochUptime', 1, [hex], big], ['getOriginatedEpochFee', 1, [hex], big]]);
	add('dag', [['getEvent', 1, null, event], ['getEventPayload', 2, [null, Boolean], event], ['getHeads', 1, [block]]]);
	add('debug', [
		['validatorVersions', 2, [block, hex], keysToNumbers(same)], ['blocksTransactionTimes', 2, [block, hex], keysToNumbers(number)],
		['blocksTPS', 2, [block, hex], perSecond, 'debug_blocksTransactionTimes']
	]);
	add('debug', simple('blocksTTF:4 validatorTimeDrifts:3')); // of older nodes
	add('version', [], [['lachesis', null, 'eth_protocolVersion']]);

	function rawName(args) {
		var byHash = utils.isString(args[0]) && args[0].indexOf('0x') === 0;
		return byHash ? 'eth_getRawTransactionByBlockHashAndIndex' : 'eth_getRawTransactionByBlockNumberAndIndex';
	}
	function waiting(txs) {
		return txs.map(function (tx) {
			tx = formatters.outputTransactionFormatter(tx);
			tx.blockHash = null;
			return tx;
		});
	}
	function named(namespace, methods) { // methods whose name at the node begins otherwise
		return methods.map(function (m) {
			m[4] = m[4] || namespace + '_' + m[0];
			return m;
		});
	}
	var modules = {
		admin: function () {
			add('admin', simple('addPeer:1 removePeer:1 addTrustedPeer:1 removeTrustedPeer:1 exportChain:3 importChain:1 ' +
				'startHTTP:5 stopHTTP:0 startRPC:5 stopRPC:0 startWS:4 stopWS:0'),
			[['nodeInfo'], ['peers'], ['privateNodes'], ['iprestrict'], ['datadir']]);
		},
		debug: function () {
			add('debug', simple('getBlockRlp:1 setHead:1 seedHash:1 chaindbCompact:0 verbosity:1 vmodule:1 ' +
				'backtraceAt:1 freeOSMemory:0 setGCPercent:1 memStats:0 gcStats:0 cpuProfile:2 startCPUProfile:1 stopCPUProfile:0 goTrace:2 ' +
				'startGoTrace:1 stopGoTrace:0 blockProfile:2 setBlockProfileRate:1 writeBlockProfile:1 mutexProfile:2 setMutexProfileFraction:1 ' +
				'writeMutexProfile:1 writeMemProfile:1 traceBlock:2 traceBlockByHash:2 traceTransaction:2 traceCall:3 ' +
				'traceBlockFromFile:2 traceBadBlock:1 standardTraceBlockToFile:2 standardTraceBadBlockToFile:2 ' +
				'freezeClient:1 preimage:1 getBadBlocks:0 storageRangeAt:5 getModifiedAccountsByNumber:2 getModifiedAccountsByHash:2'));
			add('debug', [
				['accountRange', 6, [defaultBlock, null, null, null, null, null]], ['testSignCliqueBlock', 2, [address, null]],
				['dumpBlock', 1, [block]], ['traceBlockByNumber', 2, [block, null]], ['stacks', 0, null, print], ['printBlock', 1, null, print], ['chaindbProperty', 1, null, print]
			]);
		},
		ftm: function () {
			add('ftm', named('eth', [
				['chainId', 0], ['sign', 2, [address, null]], ['resend', 3, [sent, utils.fromDecimal, utils.fromDecimal]],
				['signTransaction', 1, [sent]], ['submitTransaction', 1, [sent]], ['fillTransaction', 1, [sent]],
				['estimateGas', 2, [formatters.inputCallFormatter, block], number],
				['getHeaderByNumber', 1, [block]], ['getHeaderByHash', 1], ['getBlockByNumber', 2, [block, null]], ['getBlockByHash', 2],
				['getRawTransaction', 1, null, null, 'eth_getRawTransactionByHash'], ['getRawTransactionFromBlock', 2, [block, hex], null, rawName],
				['getProof', 3, [address, null, block]], ['createAccessList', 2, [null, block]], ['feeHistory', 3, [null, block, null]]
			]), [['pendingTransactions', waiting, 'eth_pendingTransactions'], ['maxPriorityFeePerGas', utils.toBigNumber, 'eth_maxPriorityFeePerGas']]);
		},
		net: function () { add('net', [], [['version']]); },
		personal: function () {
			add('personal', [
				['importRawKey', 2], ['sign', 3, [null, address, null]], ['ecRecover', 2], ['openWallet', 2], ['deriveAccount', 3],
				['signTransaction', 2, [sent, null]], ['unpair', 2], ['initializeWallet', 1]
			], [['listWallets']]);
		},
		rpc: function () { add('rpc', [], [['modules']]); },
		txpool: function () {
			add('txpool', [['contentFrom', 1]], [['content'], ['inspect'], ['status', function (s) {
				convert(s, ['pending', 'queued'], number);
				return s;
			}]]);
		}
	};
	served.forEach(function (name) {
		if (modules.hasOwnProperty(name)) {
			modules[name]();
		}
	});
	served.concat('ftm', 'personal').forEach(function (name) {
		if (name !== 'web3' && web3[name] !== undefined) {
			global[name] = web3[name];
		}
	});

	// What the node cannot do alone.
	if (global.admin) {
		global.admin.sleep = function () {
			var seconds = arguments[0];
			if (typeof seconds !== 'number') {
				throw new Error('usage: sleep(<number of seconds>)');
			}
			host.sleep(seconds);
			return true;
		};
		global.admin.sleepBlocks = function () {
			var blocks = arguments[0], seconds = arguments[1];
			if (typeof blocks !== 'number') {
				throw new Error('usage: sleepBlocks(<n blocks>[, max sleep in seconds])');
			}
			var last = ftm.blockNumber + blocks;
			for (var left = seconds === undefined ? Infinity : seconds; ftm.blockNumber < last; left--) {
				if (left <= 0) {
					return false;
				}
				host.sleep(1);
			}
			return true;
		};
		global.admin.clearHistory = host.clearHistory;
	}
	function asked(object, name, password) { // a password that lacks is asked for
		var call = object[name];
		object[name] = function () {
			return call.apply(object, password(Array.prototype.slice.call(arguments)));
		};
	}
	function lacks(value) { return value === undefined || value === null; }
	function mustBeText(value, text) {
		if (typeof value !== 'string') {
			throw new Error(text);
		}
	}
	if (global.personal) {
		asked(global.personal, 'newAccount', function (args) {
			if (args.length === 0) {
				args = [host.ask('Passphrase: ')];
				if (host.ask('Repeat passphrase: ') !== args[0]) {
					throw new Error("passwords don't match!");
				}
			}
			mustBeText(args[0], 'expected 0 or 1 string argument');
			return args;
		});
		asked(global.personal, 'unlockAccount', function (args) {
			mustBeText(args[0], 'first argument must be the account to unlock');
			if (lacks(args[1])) {
				host.tell('Unlock account ' + args[0]);
				args[1] = host.ask('Passphrase: ');
			}
			mustBeText(args[1], 'password must be a string');
			if (lacks(args[2])) {
				args[2] = null;
			} else if (typeof args[2] !== 'number') {
				throw new Error('unlock duration must be a number');
			}
			return args;
		});
		asked(global.personal, 'sign', function (args) {
			mustBeText(args[0], 'first argument must be the message to sign');
			mustBeText(args[1], 'second argument must be the account to sign with');
			if (lacks(args[2])) {
				host.tell('Give password for account ' + args[1]);
				args[2] = host.ask('Password: ');
			}
			mustBeText(args[2], 'third argument must be the password to unlock the account');
			return args;
		});
		if (global.personal.openWallet) {
			asked(global.personal, 'openWallet', function (args) {
				mustBeText(args[0], 'first argument must be the wallet URL to open');
				return [args[0], lacks(args[1]) ? '' : args[1]];
			});
		}
	}
})
