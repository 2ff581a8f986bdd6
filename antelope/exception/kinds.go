package exception

// The exceptions of nodeos, by the names of their classes without a final
// "_exception": code, name, what it says, and the class that it is derived from.
var (
	ChainException = &Kind{3000000, "chain_exception", "blockchain exception", nil}

	ChainType             = &Kind{3010000, "chain_type_exception", "chain type exception", ChainException}
	NameType              = &Kind{3010001, "name_type_exception", "Invalid name", ChainType}
	PublicKeyType         = &Kind{3010002, "public_key_type_exception", "Invalid public key", ChainType}
	PrivateKeyType        = &Kind{3010003, "private_key_type_exception", "Invalid private key", ChainType}
	AuthorityType         = &Kind{3010004, "authority_type_exception", "Invalid authority", ChainType}
	ActionType            = &Kind{3010005, "action_type_exception", "Invalid action", ChainType}
	TransactionType       = &Kind{3010006, "transaction_type_exception", "Invalid transaction", ChainType}
	ABIType               = &Kind{3010007, "abi_type_exception", "Invalid ABI", ChainType}
	BlockIDType           = &Kind{3010008, "block_id_type_exception", "Invalid block ID", ChainType}
	TransactionIDType     = &Kind{3010009, "transaction_id_type_exception", "Invalid transaction ID", ChainType}
	PackedTransactionType = &Kind{3010010, "packed_transaction_type_exception", "Invalid packed transaction", ChainType}
	AssetType             = &Kind{3010011, "asset_type_exception", "Invalid asset", ChainType}
	ChainIDType           = &Kind{3010012, "chain_id_type_exception", "Invalid chain ID", ChainType}
	FixedKeyType          = &Kind{3010013, "fixed_key_type_exception", "Invalid fixed key", ChainType}
	SymbolType            = &Kind{3010014, "symbol_type_exception", "Invalid symbol", ChainType}
	UnactivatedKeyType    = &Kind{3010015, "unactivated_key_type", "Key type is not a currently activated type",
		ChainType}
	UnactivatedSignatureType = &Kind{3010016, "unactivated_signature_type",
		"Signature type is not a currently activated type", ChainType}

	ForkDatabase        = &Kind{3020000, "fork_database_exception", "Fork database exception", ChainException}
	ForkDBBlockNotFound = &Kind{3020001, "fork_db_block_not_found", "Block can not be found", ForkDatabase}

	BlockValidate = &Kind{3030000, "block_validate_exception",
		"Block exception", ChainException}
	UnlinkableBlock = &Kind{3030001, "unlinkable_block_exception",
		"Unlinkable block", BlockValidate}
	BlockTxOutput = &Kind{3030002, "block_tx_output_exception",
		"Transaction outputs in block do not match transaction outputs from applying block", BlockValidate}
	BlockConcurrency = &Kind{3030003, "block_concurrency_exception",
		"Block does not guarantee concurrent execution without conflicts", BlockValidate}
	BlockLock = &Kind{3030004, "block_lock_exception",
		"Shard locks in block are incorrect or mal-formed", BlockValidate}
	BlockResourceExhausted = &Kind{3030005, "block_resource_exhausted",
		"Block exhausted allowed resources", BlockValidate}
	BlockTooOld = &Kind{3030006, "block_too_old_exception", "Block is too old to push",
		BlockValidate}
	BlockFromTheFuture = &Kind{3030007, "block_from_the_future", "Block is from the future",
		BlockValidate}
	WrongSigningKey = &Kind{3030008, "wrong_signing_key",
		"Block is not signed with expected key", BlockValidate}
	WrongProducer = &Kind{3030009, "wrong_producer",
		"Block is not signed by expected producer", BlockValidate}
	InvalidBlockHeaderExtension = &Kind{3030010, "invalid_block_header_extension",
		"Invalid block header extension", BlockValidate}
	IllFormedProtocolFeatureActivation = &Kind{3030011, "ill_formed_protocol_feature_activation",
		"Block includes an ill-formed protocol feature activation extension", BlockValidate}
	InvalidBlockExtension = &Kind{3030012, "invalid_block_extension", "Invalid block extension",
		BlockValidate}
	IllFormedAdditionalBlockSignaturesExtension = &Kind{3030013, "ill_formed_additional_block_signatures_extension",
		"Block includes an ill-formed additional block signature extension", BlockValidate}
	InvalidQCClaim     = &Kind{3030014, "invalid_qc_claim", "Block includes an invalid QC claim", BlockValidate}
	InvalidQC          = &Kind{3030015, "invalid_qc", "Block includes an invalid QC", BlockValidate}
	InvalidQCSignature = &Kind{3030016, "invalid_qc_signature", "Block includes an invalid QC signature", BlockValidate}

	Transaction = &Kind{3040000, "transaction_exception",
		"Transaction exception", ChainException}
	TxDecompressionError = &Kind{3040001, "tx_decompression_error",
		"Error decompressing transaction", Transaction}
	TxNoAction = &Kind{3040002, "tx_no_action",
		"Transaction should have at least one normal action", Transaction}
	TxNoAuths = &Kind{3040003, "tx_no_auths",
		"Transaction should have at least one required authority", Transaction}
	CFAIrrelevantAuth = &Kind{3040004, "cfa_irrelevant_auth",
		"Context-free action should have no required authority", Transaction}
	ExpiredTx = &Kind{3040005, "expired_tx_exception",
		"Expired Transaction", Transaction}
	TxExpTooFar = &Kind{3040006, "tx_exp_too_far_exception",
		"Transaction Expiration Too Far", Transaction}
	InvalidRefBlock = &Kind{3040007, "invalid_ref_block_exception",
		"Invalid Reference Block", Transaction}
	TxDuplicate         = &Kind{3040008, "tx_duplicate", "Duplicate transaction", Transaction}
	DeferredTxDuplicate = &Kind{3040009, "deferred_tx_duplicate",
		"Duplicate deferred transaction", Transaction}
	CFAInsideGeneratedTx = &Kind{3040010, "cfa_inside_generated_tx",
		"Context free action is not allowed inside generated transaction", Transaction}
	TxNotFound = &Kind{3040011, "tx_not_found",
		"The transaction can not be found", Transaction}
	TooManyTxAtOnce = &Kind{3040012, "too_many_tx_at_once",
		"Pushing too many transactions at once", Transaction}
	TxTooBig                      = &Kind{3040013, "tx_too_big", "Transaction is too big", Transaction}
	UnknownTransactionCompression = &Kind{3040014, "unknown_transaction_compression",
		"Unknown transaction compression", Transaction}
	InvalidTransactionExtension = &Kind{3040015, "invalid_transaction_extension",
		"Invalid transaction extension", Transaction}
	IllFormedDeferredTransactionGenerationContext = &Kind{3040016, "ill_formed_deferred_transaction_generation_context",
		"Transaction includes an ill-formed deferred transaction generation context extension", Transaction}
	DisallowedTransactionExtensionsBadBlock = &Kind{3040017, "disallowed_transaction_extensions_bad_block_exception",
		"Transaction includes disallowed extensions (invalid block)", Transaction}
	TxResourceExhaustion = &Kind{3040018, "tx_resource_exhaustion", "Transaction exceeded transient resource limit",
		Transaction}

	ActionValidate    = &Kind{3050000, "action_validate_exception", "Action validate exception", ChainException}
	AccountNameExists = &Kind{3050001, "account_name_exists_exception", "Account name already exists",
		ActionValidate}
	InvalidActionArgs = &Kind{3050002, "invalid_action_args_exception", "Invalid Action Arguments",
		ActionValidate}
	EosioAssertMessage = &Kind{3050003, "eosio_assert_message_exception",
		"eosio_assert_message assertion failure", ActionValidate}
	EosioAssertCode = &Kind{3050004, "eosio_assert_code_exception", "eosio_assert_code assertion failure",
		ActionValidate}
	ActionNotFound              = &Kind{3050005, "action_not_found_exception", "Action can not be found", ActionValidate}
	ActionDataAndStructMismatch = &Kind{3050006, "action_data_and_struct_mismatch",
		"Mismatch between action data and its struct", ActionValidate}
	UnaccessibleAPI    = &Kind{3050007, "unaccessible_api", "Attempt to use unaccessible API", ActionValidate}
	AbortCalled        = &Kind{3050008, "abort_called", "Abort Called", ActionValidate}
	InlineActionTooBig = &Kind{3050009, "inline_action_too_big", "Inline Action exceeds maximum size limit",
		ActionValidate}
	UnauthorizedRAMUsageIncrease = &Kind{3050010, "unauthorized_ram_usage_increase",
		"Action attempts to increase RAM usage of account without authorization", ActionValidate}
	RestrictedErrorCode = &Kind{3050011, "restricted_error_code_exception",
		"eosio_assert_code assertion failure uses restricted error code value", ActionValidate}
	ActionReturnValue = &Kind{3050014, "action_return_value_exception", "action return value size too big", ActionValidate}

	Database           = &Kind{3060000, "database_exception", "Database exception", ChainException}
	PermissionQuery    = &Kind{3060001, "permission_query_exception", "Permission Query Exception", Database}
	AccountQuery       = &Kind{3060002, "account_query_exception", "Account Query Exception", Database}
	ContractTableQuery = &Kind{3060003, "contract_table_query_exception", "Contract Table Query Exception", Database}
	ContractQuery      = &Kind{3060004, "contract_query_exception", "Contract Query Exception", Database}
	BadDatabaseVersion = &Kind{3060005, "bad_database_version_exception",
		"Database is an unknown or unsupported version", Database}
	Guard         = &Kind{3060100, "guard_exception", "Guard Exception", Database}
	DatabaseGuard = &Kind{3060101, "database_guard_exception", "Database usage is at unsafe levels", Guard}

	Wasm                   = &Kind{3070000, "wasm_exception", "WASM Exception", ChainException}
	PageMemoryError        = &Kind{3070001, "page_memory_error", "Error in WASM page memory", Wasm}
	WasmExecutionError     = &Kind{3070002, "wasm_execution_error", "Runtime Error Processing WASM", Wasm}
	WasmSerializationError = &Kind{3070003, "wasm_serialization_error", "Serialization Error Processing WASM", Wasm}
	OverlappingMemoryError = &Kind{3070004, "overlapping_memory_error", "memcpy with overlapping memory", Wasm}
	Binaryen               = &Kind{3070005, "binaryen_exception", "binaryen exception", Wasm}

	ResourceExhausted = &Kind{3080000, "resource_exhausted_exception", "Resource exhausted exception",
		ChainException}
	RAMUsageExceeded = &Kind{3080001, "ram_usage_exceeded",
		"Account using more than allotted RAM usage", ResourceExhausted}
	TxNetUsageExceeded = &Kind{3080002, "tx_net_usage_exceeded",
		"Transaction exceeded the current network usage limit imposed on the transaction", ResourceExhausted}
	BlockNetUsageExceeded = &Kind{3080003, "block_net_usage_exceeded",
		"Transaction network usage is too much for the remaining allowable usage of the current block",
		ResourceExhausted}
	TxCPUUsageExceeded = &Kind{3080004, "tx_cpu_usage_exceeded",
		"Transaction exceeded the current CPU usage limit imposed on the transaction", ResourceExhausted}
	BlockCPUUsageExceeded = &Kind{3080005, "block_cpu_usage_exceeded",
		"Transaction CPU usage is too much for the remaining allowable usage of the current block", ResourceExhausted}
	Deadline                 = &Kind{3080006, "deadline_exception", "Transaction took too long", ResourceExhausted}
	GreylistNetUsageExceeded = &Kind{3080007, "greylist_net_usage_exceeded",
		"Transaction exceeded the current greylisted account network usage limit", ResourceExhausted}
	GreylistCPUUsageExceeded = &Kind{3080008, "greylist_cpu_usage_exceeded",
		"Transaction exceeded the current greylisted account CPU usage limit", ResourceExhausted}
	RoTrxVmOcCompileTemporaryFailure = &Kind{3080009, "ro_trx_vm_oc_compile_temporary_failure",
		"Read-only transaction eos-vm-oc compile temporary failure", ResourceExhausted}
	RoTrxVmOcCompilePermanentFailure = &Kind{3080010, "ro_trx_vm_oc_compile_permanent_failure",
		"Read-only transaction eos-vm-oc compile permanent failure", ResourceExhausted}
	LeewayDeadline = &Kind{3081001, "leeway_deadline_exception",
		"Transaction reached the deadline set due to leeway on account CPU limits", Deadline}

	Authorization            = &Kind{3090000, "authorization_exception", "Authorization exception", ChainException}
	TxDuplicateSig           = &Kind{3090001, "tx_duplicate_sig", "Duplicate signature included", Authorization}
	TxIrrelevantSig          = &Kind{3090002, "tx_irrelevant_sig", "Irrelevant signature included", Authorization}
	UnsatisfiedAuthorization = &Kind{3090003, "unsatisfied_authorization",
		"Provided keys, permissions, and delays do not satisfy declared authorizations", Authorization}
	MissingAuth    = &Kind{3090004, "missing_auth_exception", "Missing required authority", Authorization}
	IrrelevantAuth = &Kind{3090005, "irrelevant_auth_exception", "Irrelevant authority included",
		Authorization}
	InsufficientDelay             = &Kind{3090006, "insufficient_delay_exception", "Insufficient delay", Authorization}
	InvalidPermission             = &Kind{3090007, "invalid_permission", "Invalid Permission", Authorization}
	UnlinkableMinPermissionAction = &Kind{3090008, "unlinkable_min_permission_action",
		"The action is not allowed to be linked with minimum permission", Authorization}
	InvalidParentPermission = &Kind{3090009, "invalid_parent_permission", "The parent permission is invalid",
		Authorization}

	Misc                          = &Kind{3100000, "misc_exception", "Miscellaneous exception", ChainException}
	RateLimitingStateInconsistent = &Kind{3100001, "rate_limiting_state_inconsistent",
		"Internal state is no longer consistent", Misc}
	UnknownBlock       = &Kind{3100002, "unknown_block_exception", "Unknown block", Misc}
	UnknownTransaction = &Kind{3100003, "unknown_transaction_exception", "Unknown transaction", Misc}
	FixedReversibleDB  = &Kind{3100004, "fixed_reversible_db_exception",
		"Corrupted reversible block database was fixed", Misc}
	ExtractGenesisState = &Kind{3100005, "extract_genesis_state_exception",
		"Extracted genesis state from blocks.log", Misc}
	SubjectiveBlockProduction = &Kind{3100006, "subjective_block_production_exception",
		"Subjective exception thrown during block production", Misc}
	MultipleVoterInfo     = &Kind{3100007, "multiple_voter_info", "Multiple voter info detected", Misc}
	UnsupportedFeature    = &Kind{3100008, "unsupported_feature", "Feature is currently unsupported", Misc}
	NodeManagementSuccess = &Kind{3100009, "node_management_success",
		"Node management operation successfully executed", Misc}
	JSONParse            = &Kind{3100010, "json_parse_exception", "JSON parse exception", Misc}
	SigVariableSizeLimit = &Kind{3100011, "sig_variable_size_limit_exception",
		"Variable length component of signature too large", Misc}

	Plugin                  = &Kind{3110000, "plugin_exception", "Plugin exception", ChainException}
	MissingChainAPIPlugin   = &Kind{3110001, "missing_chain_api_plugin_exception", "Missing Chain API Plugin", Plugin}
	MissingWalletAPIPlugin  = &Kind{3110002, "missing_wallet_api_plugin_exception", "Missing Wallet API Plugin", Plugin}
	MissingHistoryAPIPlugin = &Kind{3110003, "missing_history_api_plugin_exception", "Missing History API Plugin", Plugin}
	MissingNetAPIPlugin     = &Kind{3110004, "missing_net_api_plugin_exception", "Missing Net API Plugin", Plugin}
	MissingChainPlugin      = &Kind{3110005, "missing_chain_plugin_exception", "Missing Chain Plugin", Plugin}
	PluginConfig            = &Kind{3110006, "plugin_config_exception", "Incorrect plugin configuration", Plugin}
	MissingTraceAPIPlugin   = &Kind{3110007, "missing_trace_api_plugin_exception", "Missing Trace API Plugin", Plugin}

	Wallet                = &Kind{3120000, "wallet_exception", "Wallet exception", ChainException}
	WalletExist           = &Kind{3120001, "wallet_exist_exception", "Wallet already exists", Wallet}
	WalletNonexistent     = &Kind{3120002, "wallet_nonexistent_exception", "Nonexistent wallet", Wallet}
	WalletLocked          = &Kind{3120003, "wallet_locked_exception", "Locked wallet", Wallet}
	WalletMissingPubKey   = &Kind{3120004, "wallet_missing_pub_key_exception", "Missing public key", Wallet}
	WalletInvalidPassword = &Kind{3120005, "wallet_invalid_password_exception", "Invalid wallet password", Wallet}
	WalletNotAvailable    = &Kind{3120006, "wallet_not_available_exception", "No available wallet", Wallet}
	WalletUnlocked        = &Kind{3120007, "wallet_unlocked_exception", "Already unlocked", Wallet}
	KeyExist              = &Kind{3120008, "key_exist_exception", "Key already exists", Wallet}
	KeyNonexistent        = &Kind{3120009, "key_nonexistent_exception", "Nonexistent key", Wallet}
	UnsupportedKeyType    = &Kind{3120010, "unsupported_key_type_exception", "Unsupported key type", Wallet}
	InvalidLockTimeout    = &Kind{3120011, "invalid_lock_timeout_exception", "Wallet lock timeout is invalid", Wallet}
	SecureEnclave         = &Kind{3120012, "secure_enclave_exception", "Secure Enclave Exception", Wallet}

	WhitelistBlacklist = &Kind{3130000, "whitelist_blacklist_exception",
		"Actor or contract whitelist/blacklist exception", ChainException}
	ActorWhitelist = &Kind{3130001, "actor_whitelist_exception",
		"Authorizing actor of transaction is not on the whitelist", WhitelistBlacklist}
	ActorBlacklist = &Kind{3130002, "actor_blacklist_exception",
		"Authorizing actor of transaction is on the blacklist", WhitelistBlacklist}
	ContractWhitelist = &Kind{3130003, "contract_whitelist_exception", "Contract to execute is not on the whitelist",
		WhitelistBlacklist}
	ContractBlacklist = &Kind{3130004, "contract_blacklist_exception", "Contract to execute is on the blacklist",
		WhitelistBlacklist}
	ActionBlacklist = &Kind{3130005, "action_blacklist_exception", "Action to execute is on the blacklist",
		WhitelistBlacklist}
	KeyBlacklist = &Kind{3130006, "key_blacklist_exception", "Public key in authority is on the blacklist",
		WhitelistBlacklist}

	ControllerEmitSignal = &Kind{3140000, "controller_emit_signal_exception",
		"Exceptions that are allowed to bubble out of emit calls in controller", ChainException}
	Checkpoint        = &Kind{3140001, "checkpoint_exception", "Block does not match checkpoint", ControllerEmitSignal}
	StateHistoryWrite = &Kind{3140002, "state_history_write_exception", "State history write error", ControllerEmitSignal}

	ABI                    = &Kind{3015000, "abi_exception", "ABI exception", ChainException}
	ABINotFound            = &Kind{3015001, "abi_not_found_exception", "No ABI found", ABI}
	InvalidRicardianClause = &Kind{3015002, "invalid_ricardian_clause_exception", "Invalid Ricardian Clause", ABI}
	InvalidRicardianAction = &Kind{3015003, "invalid_ricardian_action_exception", "Invalid Ricardian Action", ABI}
	InvalidTypeInsideABI   = &Kind{3015004, "invalid_type_inside_abi", "The type defined in the ABI is invalid", ABI}
	DuplicateABITypeDef    = &Kind{3015005, "duplicate_abi_type_def_exception",
		"Duplicate type definition in the ABI", ABI}
	DuplicateABIStructDef = &Kind{3015006, "duplicate_abi_struct_def_exception",
		"Duplicate struct definition in the ABI", ABI}
	DuplicateABIActionDef = &Kind{3015007, "duplicate_abi_action_def_exception",
		"Duplicate action definition in the ABI", ABI}
	DuplicateABITableDef = &Kind{3015008, "duplicate_abi_table_def_exception",
		"Duplicate table definition in the ABI", ABI}
	DuplicateABIErrMsgDef = &Kind{3015009, "duplicate_abi_err_msg_def_exception",
		"Duplicate error message definition in the ABI", ABI}
	ABISerializationDeadline = &Kind{3015010, "abi_serialization_deadline_exception",
		"ABI serialization time has exceeded the deadline", ABI}
	ABIRecursionDepth = &Kind{3015011, "abi_recursion_depth_exception",
		"ABI recursive definition has exceeded the max recursion depth", ABI}
	ABICircularDef = &Kind{3015012, "abi_circular_def_exception",
		"Circular definition is detected in the ABI", ABI}
	Unpack                 = &Kind{3015013, "unpack_exception", "Unpack data exception", ABI}
	Pack                   = &Kind{3015014, "pack_exception", "Pack data exception", ABI}
	DuplicateABIVariantDef = &Kind{3015015, "duplicate_abi_variant_def_exception",
		"Duplicate variant definition in the ABI", ABI}
	UnsupportedABIVersion = &Kind{3015016, "unsupported_abi_version_exception",
		"ABI has an unsupported version", ABI}
	DuplicateABIActionResultsDef = &Kind{3015017, "duplicate_abi_action_results_def_exception",
		"Duplicate action results definition in the ABI", ABI}

	Contract                   = &Kind{3160000, "contract_exception", "Contract exception", ChainException}
	InvalidTablePayer          = &Kind{3160001, "invalid_table_payer", "The payer of the table data is invalid", Contract}
	TableAccessViolation       = &Kind{3160002, "table_access_violation", "Table access violation", Contract}
	InvalidTableIterator       = &Kind{3160003, "invalid_table_iterator", "Invalid table iterator", Contract}
	TableNotInCache            = &Kind{3160004, "table_not_in_cache", "Table can not be found inside the cache", Contract}
	TableOperationNotPermitted = &Kind{3160005, "table_operation_not_permitted",
		"The table operation is not allowed", Contract}
	InvalidContractVmType    = &Kind{3160006, "invalid_contract_vm_type", "Invalid contract vm type", Contract}
	InvalidContractVmVersion = &Kind{3160007, "invalid_contract_vm_version", "Invalid contract vm version", Contract}
	SetExactCode             = &Kind{3160008, "set_exact_code", "Contract is already running this version of code",
		Contract}
	WasmFileNotFound         = &Kind{3160009, "wasm_file_not_found", "No wasm file found", Contract}
	ABIFileNotFound          = &Kind{3160010, "abi_file_not_found", "No abi file found", Contract}
	WasmConfigUnknownVersion = &Kind{3160015, "wasm_config_unknown_version", "Unknown wasm_config version", Contract}
	ConfigParseError         = &Kind{3160016, "config_parse_error", "Parsing config error", Contract}

	Producer                = &Kind{3170000, "producer_exception", "Producer exception", ChainException}
	ProducerPrivKeyNotFound = &Kind{3170001, "producer_priv_key_not_found",
		"Producer private key is not available", Producer}
	MissingPendingBlockState = &Kind{3170002, "missing_pending_block_state",
		"Pending block state is missing", Producer}
	ProducerDoubleConfirm = &Kind{3170003, "producer_double_confirm",
		"Producer is double confirming known range", Producer}
	ProducerSchedule = &Kind{3170004, "producer_schedule_exception",
		"Producer schedule exception", Producer}
	ProducerNotInSchedule = &Kind{3170006, "producer_not_in_schedule",
		"The producer is not part of current schedule", Producer}
	SnapshotDirectoryNotFound = &Kind{3170007, "snapshot_directory_not_found_exception",
		"The configured snapshot directory does not exist", Producer}
	SnapshotExists = &Kind{3170008, "snapshot_exists_exception",
		"The requested snapshot already exists", Producer}
	SnapshotFinalization = &Kind{3170009, "snapshot_finalization_exception",
		"Snapshot Finalization Exception", Producer}
	InvalidProtocolFeaturesToActivate = &Kind{3170010, "invalid_protocol_features_to_activate",
		"The protocol features to be activated were not valid", Producer}
	NoBlockSignatures = &Kind{3170011, "no_block_signatures",
		"The signer returned no valid block signatures", Producer}
	UnsupportedMultipleBlockSignatures = &Kind{3170012, "unsupported_multiple_block_signatures",
		"The signer returned multiple signatures but that is not supported", Producer}
	DuplicateSnapshotRequest = &Kind{3170013, "duplicate_snapshot_request",
		"Snapshot has been already scheduled with specified parameters", Producer}
	SnapshotRequestNotFound = &Kind{3170014, "snapshot_request_not_found", "Snapshot request not found", Producer}
	InvalidSnapshotRequest  = &Kind{3170015, "invalid_snapshot_request", "Invalid snapshot request", Producer}
	InvalidPauseAtBlock     = &Kind{3170017, "invalid_pause_at_block_request", "Invalid pause at block request", Producer}
	SnapshotExecution       = &Kind{3170016, "snapshot_execution_exception", "Snapshot execution exception", Producer}

	ReversibleBlocks = &Kind{3180000, "reversible_blocks_exception", "Reversible Blocks exception",
		ChainException}
	InvalidReversibleBlocksDir = &Kind{3180001, "invalid_reversible_blocks_dir",
		"Invalid reversible blocks directory", ReversibleBlocks}
	ReversibleBlocksBackupDirExist = &Kind{3180002, "reversible_blocks_backup_dir_exist",
		"Backup directory for reversible blocks already existg", ReversibleBlocks}
	GapInReversibleBlocksDB = &Kind{3180003, "gap_in_reversible_blocks_db", "Gap in the reversible blocks database",
		ReversibleBlocks}

	BlockLog                   = &Kind{3190000, "block_log_exception", "Block log exception", ChainException}
	BlockLogUnsupportedVersion = &Kind{3190001, "block_log_unsupported_version",
		"unsupported version of block log", BlockLog}
	BlockLogAppendFail     = &Kind{3190002, "block_log_append_fail", "fail to append block to the block log", BlockLog}
	BlockLogNotFound       = &Kind{3190003, "block_log_not_found", "block log can not be found", BlockLog}
	BlockLogBackupDirExist = &Kind{3190004, "block_log_backup_dir_exist", "block log backup dir already exists", BlockLog}
	BlockIndexNotFound     = &Kind{3190005, "block_index_not_found", "block index can not be found", BlockLog}

	HTTP                      = &Kind{3200000, "http_exception", "http exception", ChainException}
	InvalidHTTPClientRootCert = &Kind{3200001, "invalid_http_client_root_cert",
		"invalid http client root certificate", HTTP}
	InvalidHTTPResponse     = &Kind{3200002, "invalid_http_response", "invalid http response", HTTP}
	ResolvedToMultiplePorts = &Kind{3200003, "resolved_to_multiple_ports", "service resolved to multiple ports", HTTP}
	FailToResolveHost       = &Kind{3200004, "fail_to_resolve_host", "fail to resolve host", HTTP}
	HTTPRequestFail         = &Kind{3200005, "http_request_fail", "http request fail", HTTP}
	InvalidHTTPRequest      = &Kind{3200006, "invalid_http_request", "invalid http request", HTTP}

	ResourceLimit = &Kind{3210000, "resource_limit_exception", "Resource limit exception", ChainException}

	ContractAPI = &Kind{3230000, "contract_api_exception", "Contract API exception", ChainException}
	CryptoAPI   = &Kind{3230001, "crypto_api_exception", "Crypto API Exception", ContractAPI}
	DBAPI       = &Kind{3230002, "db_api_exception", "Database API Exception", ContractAPI}
	Arithmetic  = &Kind{3230003, "arithmetic_exception", "Arithmetic Exception", ContractAPI}

	Snapshot           = &Kind{3240000, "snapshot_exception", "Snapshot exception", ChainException}
	SnapshotValidation = &Kind{3240001, "snapshot_validation_exception", "Snapshot Validation Exception", Snapshot}

	ProtocolFeature           = &Kind{3250000, "protocol_feature_exception", "Protocol feature exception", ChainException}
	ProtocolFeatureValidation = &Kind{3250001, "protocol_feature_validation_exception",
		"Protocol feature validation exception", ProtocolFeature}
	ProtocolFeatureBadBlock = &Kind{3250002, "protocol_feature_bad_block_exception",
		"Protocol feature exception (invalid block)", ProtocolFeature}
	ProtocolFeatureIterator = &Kind{3250003, "protocol_feature_iterator_exception",
		"Protocol feature iterator exception", ProtocolFeature}
)
