// Every limit of the platform in one place, each with its unit in its name and the reason for its size.

/** The sizes that a visitor or an owner can run into. MB means 1,000,000 bytes everywhere. */
export const REQUEST_BODY_BYTES_MAX = 6_000_000; // The contract's response limit, applied to both directions.
export const ANSWER_BODY_BYTES_MAX = 6_000_000; // The contract: a response body is at most 6 MB.
export const HEADER_BYTES_MAX = 16_384; // Names and values together; what most proxies in front of us allow.
export const TARGET_BYTES_MAX = 8_192; // The request target: path and query as sent.
export const FORM_FIELD_COUNT_MAX = 50_000; // A form of 6 MB could hold millions of fields, and each of them costs a hundred bytes.
export const FUNCTION_FOLDER_BYTES_MAX = 5_000_000; // The contract: one function's folder, uncompressed.
export const FUNCTION_FILE_COUNT_MAX = 5_000; // A folder of 5 MB with more files than this is a mistake.
export const VARIABLE_VALUE_BYTES_MAX = 4_096; // One environment variable of an app; the originals took 255.
export const VARIABLE_COUNT_MAX = 256; // Per environment: a process starts with 2 MB of them at most.

/** Manifests, and the routes that are added to them. */
export const MANIFEST_BYTES_MAX = 1_000_000; // A package.json may be one.
export const MANIFEST_ARC_BYTES_MAX = 65_536; // The time of that format's parser grows with the square: so many take it two seconds.
export const MANIFEST_VALUE_COUNT_MAX = 100_000; // YAML can name one list a million times in a line.
export const NEW_ROUTE_PATH_LENGTH_MAX = 25; // The contract, of routes that are not written by hand.

/** Static files of one app. */
export const SITE_FILE_COUNT_MAX = 10_000; // A gateway reads the list of them at once: measured, up to 0.1 s for so many with fingerprints.
export const SITE_BYTES_MAX = 250_000_000; // They are held in memory while a deploy is made.
export const SITE_FOLDER_DEPTH_MAX = 64; // Deeper is a loop or a mistake.
export const SITE_COMPRESS_BYTES_MIN = 1_024; // What fits into one packet anyway gains nothing.
export const SITE_COMPRESS_BYTES_MAX = 32_000_000; // Larger files would hold up a deploy for seconds each.
export const ERROR_PAGE_BYTES_MAX = 1_000_000; // 404.html and 500.html are held in memory by gateways.
export const SITE_COUNT_KEPT = 100; // Of earlier releases, besides those that are live.
export const SITE_EARLIER_MS = 60_000; // A page that was loaded before a deploy still gets the fingerprinted files that it names.
export const SITE_GRACE_MS = 3_600_000; // What was written less than this ago may belong to a deploy that is still on its way.

/** An app's source, as it is sent. */
export const SOURCE_ENTRY_COUNT_MAX = 100_000; // Files, folders and links, those that are only part of a path included.
export const SOURCE_BYTES_MAX = 536_870_912; // All files together: 512 MiB, and thus room for SITE_BYTES_MAX beside functions.
export const SOURCE_FILE_BYTES_MAX = 250_000_000; // One static file may be as large as a whole site.
export const SOURCE_ARCHIVE_BYTES_MAX = 850_000_000; // The same as tar, compressed or not: up to 3 KB more for each entry.
export const SOURCE_NAMES_BYTES_MAX = 16_000_000; // Names and targets of links together, which are held in memory meanwhile.
export const SOURCE_PATH_BYTES_MAX = 1_024; // Linux opens 4,096, the platform's own folders included.
export const SOURCE_NAME_BYTES_MAX = 255; // What Linux takes.
export const SOURCE_DEPTH_MAX = 64; // Deeper is a loop or a mistake.
export const SOURCE_LINK_HOP_COUNT_MAX = 40; // Linux gives up on links that lead through more links than this.
export const SOURCE_IGNORE_FILE_BYTES_MAX = 1_000_000; // A .gitignore; larger is something else.

/** Installing the packages of one folder. */
export const INSTALL_TIMEOUT_MS = 600_000; // A large tree over a slow line; npm itself gives up on silent registries before.
export const INSTALL_COUNT_AT_ONCE = 2; // More only share the same line and disk.
export const INSTALL_MEMORY_BYTES_MAX = 1_500_000_000; // npm holds the whole tree in memory.
export const INSTALL_PID_COUNT_MAX = 256;
export const INSTALL_CPU_COUNT_MAX = 2;
export const INSTALLED_BYTES_MAX = 2_000_000_000; // What is read out of the container; only what is reached ships.
export const INSTALL_LOG_BYTES_MAX = 1_000_000;
export const INSTALL_COUNT_KEPT = 50; // Installs that were used last stay; older ones are made again if they come back.

/** The broker. */
export const BROKER_PAYLOAD_BYTES_MAX = 8_000_000; // Room for 6 MB and headers; servers warn above 8 MB.
export const BROKER_PENDING_BYTES_MAX = 1_073_741_824; // Measured: 64 MiB makes 32 answers of 6 MB a slow consumer.
export const BROKER_WRITE_DEADLINE_MS = 60_000;
export const BROKER_VERSION_MIN = "2.10.27"; // Older ones lose acknowledged writes (facts: sync_interval, 2.10.20 to 22).
export const BROKER_CONNECTION_COUNT_MAX = 20_000; // All accounts together; each instance holds two or three.
export const BROKER_ACCOUNT_CONNECTION_COUNT_MAX = 1_000; // One app and environment: some 300 instances and its gateways.
export const BROKER_INSTANCE_SUBSCRIPTION_COUNT_MAX = 16; // Per connection; an instance needs its branch in, and little else.
export const BROKER_IDLE_LINE_COUNT_MAX = 32; // Of the control plane, into accounts where nothing is asked now; each costs some 0.3 MB at both ends.
export const BROKER_GATEWAY_SUBSCRIPTION_COUNT_MAX = 1_024; // Per connection of a gateway or of the control plane.
export const BROKER_INSTANCE_PAYLOAD_BYTES_MAX = 1_000_000; // What an instance sends at once: 128 KB of body and any headers.
export const BROKER_STATE_BYTES_MAX = 1_000_000_000; // Snapshots or control state of one account on disk.
export const BROKER_STORE_BYTES_MAX = 1_000_000_000; // Sessions and documents of one app and environment on disk, together.
export const BROKER_STORE_STREAM_COUNT_MAX = 2; // The two buckets, and no room for a stream that someone else would like to make.
export const BROKER_STORE_CONSUMER_COUNT_MAX = 16; // For the control plane's own reading; instances have no use for any.
export const BROKER_STORE_ENSURE_TIMEOUT_MS = 10_000; // A broker that was just told of an account gives it JetStream a moment later.
// All accounts together. The broker counts what each account may use as if it used it, and refuses an account beyond the sum: this
// is room for 10,000 apps and environments, not for a disk.
export const BROKER_DISK_BYTES_MAX = 10_000_000_000_000;
export const BROKER_DISK_FREE_BYTES_MIN = 8_000_000; // With less room left than this, stores take nothing new.
export const BROKER_DISK_RESERVE_BYTES = 8_000_000; // A file that is given up then: destroying writes some 40 bytes for each document.
export const BROKER_DISK_WATCH_INTERVAL_MS = 250;
export const BROKER_MEMORY_STORE_BYTES_MAX = 256_000_000; // Streams kept in memory; ours are on disk.
export const BROKER_LOG_BYTES_MAX = 10_000_000; // A log file is rotated at this size,
export const BROKER_LOG_FILE_COUNT_MAX = 5; // and only so many are kept.
export const BROKER_READY_TIMEOUT_MS = 15_000; // From start to answering; a large store takes seconds to recover.
export const BROKER_STOP_GRACE_MS = 10_000;
export const BROKER_CONNECT_TIMEOUT_MS = 3_000;
export const BROKER_REQUEST_TIMEOUT_MS = 5_000; // One answer of the broker itself.
export const BROKER_WATCH_INTERVAL_MS = 250; // How often the orchestrator looks whether the broker's process lives.

/** Large answers are pulled in chunks, so that they never stand before small ones. */
export const ANSWER_INLINE_BYTES_MAX = 131_072; // Up to here one message carries the whole answer.
export const ANSWER_CHUNK_BYTES = 131_072;
export const ANSWER_CHUNKS_IN_FLIGHT_MAX = 8; // One window of credit for one answer.
export const ANSWER_BYTES_IN_FLIGHT_MAX = 16_777_216; // All windows of one gateway and app together.
export const ANSWER_STALL_TIMEOUT_MS = 30_000; // A client that reads nothing for this long loses its answer.

/** Requests on their way. */
export const CONCURRENCY_CURRENT = 32; // Requests at once in one instance of the current generation.
export const CONCURRENCY_OLDER = 1; // Older generations were promised one request at a time.
export const REQUEST_BYTES_IN_FLIGHT_PER_INSTANCE_MAX = 24_000_000; // Bodies become base64 in the instance; this bounds its memory.
export const REQUEST_BYTES_BUFFERED_MAX = 256_000_000; // Bodies held by one gateway process at once.
export const QUEUE_COUNT_MAX = 1_024; // Requests that wait for an instance, per function.
export const QUEUE_TIMEOUT_MS = 5_000; // How long one of them waits before 503.
export const RETRY_AFTER_S = 1;
export const HANDLER_TIMEOUT_MS = 10_000; // Default per function.
export const HANDLER_TIMEOUT_MS_MAX = 900_000;
export const REDELIVERY_COUNT_MAX = 1; // After delivery only idempotent requests go out again, once.

/** Noticing a dead instance within a second, without the control plane. */
export const PROBE_AFTER_MS = 150; // A request older than this has its instance probed.
export const PROBE_INTERVAL_MS = 150;
export const PROBE_TIMEOUT_MS = 600; // No answer for this long: the instance is lost.
export const WATCHDOG_TICK_MS = 100; // How often the main thread of an instance shows that it is alive.
export const WATCHDOG_GRACE_MS = 500; // Past the handler's timeout a blocked event loop is ended after this.

/** HTTP connections of a gateway. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000; // The whole request, body included, must have arrived by then.
export const KEEP_ALIVE_TIMEOUT_MS = 65_000; // Longer than the 60 s that common proxies in front keep theirs.
export const CONNECTION_COUNT_MAX = 10_000;
export const CERTIFICATE_BYTES_MAX = 1_000_000; // Of a PEM file; a long chain has some 20 KB.
export const CERTIFICATE_CHECK_INTERVAL_MS = 2_000; // How often a gateway looks whether the files of its certificate changed.

/** The management API. */
export const API_BODY_BYTES_MAX = 1_000_000; // Of JSON. Uploads name limits of their own.
export const API_CONNECTION_COUNT_MAX = 256; // People and scripts of one machine; each may hold a few streams.
export const API_BODY_TIMEOUT_MS = 30_000; // A body of JSON must have arrived by then,
export const API_STALL_TIMEOUT_MS = 60_000; // and of an upload or a download some byte must move this often.
export const API_DISCARD_MS = 1_000; // For so long a refused upload is read on, so that its sender sees the refusal.
export const API_KEEP_ALIVE_INTERVAL_MS = 15_000; // How often a stream of events says that it is still there.
export const API_CLOSE_GRACE_MS = 3_000; // What a caller waits for when the orchestrator stops may take this long.
export const API_PROBLEM_COUNT_MAX = 50; // Of one input; more are of no help.
export const API_PENDING_COUNT_MAX = 10_000; // Lines or events that one slow reader is behind; beyond, its stream ends.
export const API_EVENT_COUNT_KEPT = 1_000; // State changes that a reader who was away can still have.
export const API_TOKEN_COUNT_MAX = 256; // Each request is compared with all of them.
export const AUDIT_FILE_BYTES_MAX = 4_000_000; // Two such files: some 20,000 mutations.

/** Upstreams that apps name with @proxy. */
export const PROXY_SOCKET_COUNT_MAX = 256; // To one upstream at once; further requests wait for one of them.
export const PROXY_FREE_SOCKET_COUNT_MAX = 32;
export const PROXY_FREE_SOCKET_TIMEOUT_MS = 4_000; // Shorter than the 5 s after which common servers close theirs.
export const PROXY_ANSWER_TIMEOUT_MS = 60_000; // Until the status is there; what most proxies allow.
export const PROXY_STALL_TIMEOUT_MS = 60_000; // An answer of which no byte moved for this long is cut off.
export const PROXY_HOP_COUNT_MAX = 4; // How often one request may pass through gateways of this platform.
export const PROXY_TUNNEL_COUNT_MAX = 2_000; // WebSockets of one gateway; each costs two sockets.
export const PROXY_TUNNEL_IDLE_TIMEOUT_MS = 600_000; // Long, because not every client pings; TCP notices peers that vanished.
export const PROXY_TUNNEL_QUIET_MS = 1_000; // While a gateway stops, a WebSocket that is silent for this long is not waited for.

/** Starting and stopping. */
export const INSTANCE_READY_TIMEOUT_MS = 20_000; // From start to ready, loading the handler included.
// Measured: two hundred at once on two busy cores, and not one is ready in time. Those of pools that fail take half of it at most.
export const INSTANCE_START_COUNT_AT_ONCE = 16;
// For as long a start keeps a processor busy, and one processor is left to what answers. Measured on two, two apps of 20 functions being
// deployed: in place of sixteen at once the management API's p99 is 23 to 30 ms and not 56 to 63 with docker, where it takes a third
// longer, and 20 to 36 and not 371 to 1,833 without, where it does not.
export const INSTANCE_START_BUSY_MS = 500;
export const GATEWAY_LINK_IDLE_MS = 600_000; // An app that nobody asked for so long costs its gateway no connection; the next request opens one, within milliseconds.
export const GATEWAY_READY_TIMEOUT_MS = 10_000;
export const GATEWAY_TAKE_OVER_TIMEOUT_MS = 5_000; // A successor that is ready serves on the sockets it is given within milliseconds.
// A gateway that handed over says `connection: close` with every answer, and leaves connections that ask nothing alone for this long:
// what common servers give them anyway (Node and Apache), so that hardly a client has a request on its way when they are closed.
export const GATEWAY_IDLE_GRACE_MS = 5_000;
// After a hand-over nobody waits for the one before: requests end by their own limits, the longest handler's included.
export const GATEWAY_DRAIN_TIMEOUT_MS = 960_000;
export const GATEWAY_LOG_BYTES_MAX = 10_000_000; // Two such files per environment.
export const STOP_GRACE_MS = 10_000; // An instance may finish its requests for this long before it is killed.
export const BACKOFF_FIRST_MS = 250; // A build that crashes on start is tried again after this, doubling,
export const BACKOFF_MAX_MS = 30_000; // up to this.

/** What one instance may use, unless its owner says otherwise. */
export const INSTANCE_MEMORY_BYTES_MAX = 512_000_000;
export const INSTANCE_CPU_COUNT_MAX = 1;
export const INSTANCE_PID_COUNT_MAX = 128;
export const INSTANCE_TMP_BYTES_MAX = 64_000_000;
export const LOG_LINE_BYTES_MAX = 65_536; // A longer line is cut, and says so.

/** Sessions and documents, as functions see them. */
export const STORE_VALUE_BYTES_MAX = 500_000; // A session of 400 KB and what surrounds it; an instance can send 1 MB at once.
export const STORE_DATA_BYTES_MAX = 800_000_000; // Documents of one app and environment on the broker's disk,
export const STORE_SESSIONS_BYTES_MAX = 200_000_000; // and sessions, apart: full of documents, visitors can still sign in. Together BROKER_STORE_BYTES_MAX.
export const STORE_DATA_COUNT_MAX = 500_000; // Measured: each costs the broker 1.4 KB of memory, whatever its size; one with a ttl twice that.
export const STORE_SESSIONS_COUNT_MAX = 500_000;
export const STORE_REQUEST_TIMEOUT_MS = 5_000; // One answer of the store; a slow disk takes a tenth of that.
export const STORE_WAIT_TIMEOUT_MS = 8_000; // How long one operation tries again while the broker is away; less than the default 10 s of a handler.
export const STORE_REQUEST_COUNT_MAX = 4_096; // Questions of one instance on their way at once.
export const STORE_CLEARING_PAUSE_MS = 5; // A handler that writes several documents one after the other is done with them by then.
export const STORE_CLEARING_COUNT_MAX = 1_000; // Replaced values that wait for a pause; with more, each new one has an old one deleted at once.
export const STORE_CLEARING_BYTES_MAX = 8_000_000; // The same for their bytes: what the disk holds in vain when an instance is killed.
export const STORE_CLEARING_SAME_KEY_COUNT_MAX = 16; // The same for one key: who destroys it deletes them all, the oldest first.
export const STORE_CLEARING_AT_ONCE_COUNT = 2; // In a pause of this instance others may write, and wait for each deletion before them.
export const STORE_CLEARING_AT_ONCE_COUNT_MAX = 64; // Beside the writers; beyond, they wait for one.
export const STORE_LIST_LEAF_COUNT_MAX = 1_024; // Keys that one answer of a listing may hold; more, and the range is divided.
export const DOCUMENT_BYTES_MAX = 200_000; // As JSON. What the original allows.
export const DOCUMENT_NAME_LENGTH_MAX = 50; // Code points of a table or a key.
export const DOCUMENT_BATCH_COUNT_MAX = 25; // Documents in one set or destroy.
export const DOCUMENT_READ_BATCH_COUNT_MAX = 100; // Documents in one get by keys.
export const DOCUMENT_PAGE_COUNT = 10; // Default of a page,
export const DOCUMENT_PAGE_COUNT_MAX = 10_000; // and the most that one may ask for: a bound on what an instance holds at once.
export const DOCUMENT_PAGE_BYTES_MAX = 16_000_000; // A page of large documents ends sooner, with a cursor.
export const DOCUMENT_READS_IN_FLIGHT_MAX = 32; // Documents of one page that are fetched at the same time: 6 MB at their largest.
export const COUNTER_TRY_COUNT_MAX = 200; // Writers that may come first on one counter before it is said to be too busy.

/** Documents with a ttl leave the disk within a minute: a slot, the interval, and the time for it. */
export const EXPIRY_SLOT_MS = 10_000; // Those that end in the same ten seconds are looked for together.
export const EXPIRY_MARGIN_MS = 20_000; // Announcing a document and writing it may each be tried again for STORE_WAIT_TIMEOUT_MS.
export const EXPIRY_SWEEP_INTERVAL_MS = 20_000;
export const EXPIRY_FULL_SWEEP_INTERVAL_MS = 3_600_000; // All earlier slots are looked at too, for what a stopped instance announced late.
export const EXPIRY_LISTED_COUNT = 1_000; // Entries of a sweep that are held in memory at once,
export const EXPIRY_REMOVALS_IN_FLIGHT_MAX = 16; // and worked on at once: functions use the same disk.

/** Stores, as their owner sees them through the management API. */
export const STORE_PULL_COUNT_MAX = 64; // Messages that are in memory at once while a whole bucket is read: 32 MB at their largest.
export const STORE_WRITES_IN_FLIGHT_MAX = 256; // Of one import or restore; measured, more gain nothing on one disk.
export const STORE_WRITES_BYTES_IN_FLIGHT_MAX = 16_000_000; // And their bytes.
export const STORE_TABLE_COUNT_MAX = 100_000; // Tables that one listing names; an app with more of them should use keys.
export const IMPORT_PROBLEM_COUNT_MAX = 1_000; // Bad lines of one import that are told of; the others are counted.
export const IMPORT_BATCH_COUNT_MAX = 1_000; // Lines that are sent at once: what has to be sent again after a break.
export const IMPORT_BATCH_BYTES_MAX = 4_000_000;
export const IMPORT_LINE_BYTES_MAX = 1_300_000; // A document at its limit, were each of its bytes written as an escape of six.
export const BACKUP_LINE_BYTES_MAX = 4_000_000; // A value at its limit, each byte as an escape of six, and its name.
export const BACKUP_BYTES_MAX = 8_000_000_000; // One file, compressed. Stores are bounded far below.
export const BACKUP_VARIABLES_BYTES_MAX = 2_500_000; // Names and values of one environment; encrypted, they stand in one line of the file.
export const PASSPHRASE_LENGTH_MIN = 8; // Whoever has a backup may guess for as long as they like.
export const PASSPHRASE_BYTES_MAX = 1_024; // It travels in a header.

/** Sessions and csrf tokens of the runtime library. */
export const SESSION_BYTES_MAX = 400_000; // As JSON. What the original promises.
export const SESSION_IDLE_MS = 604_800_000; // A week without a visit ends a session.
export const SESSION_RENEW_INTERVAL_MS = 86_400_000; // Reading moves its end, with one write a day at most.
export const CSRF_LIFETIME_MS = 86_400_000; // A form may stay open over a working day; the token is bound to the session besides.

/** Apps, their deliveries and releases. */
export const APP_NAME_LENGTH_MAX = 40; // It is a label of a host name, with "-staging" behind it.
export const APP_DOMAIN_COUNT_MAX = 50; // Of one app in one environment.
export const DEPLOYMENT_COUNT_REMEMBERED = 50; // Releases that an environment can go back to without naming one.
export const DELIVERY_COUNT_AT_ONCE = 2; // Each keeps a processor busy while its scripts run.
export const DELIVERY_COUNT_WAITING_MAX = 100; // Of all apps.
export const DELIVERY_TRY_COUNT_MAX = 3; // One that an orchestrator died in is begun again; one that brings it down is not, for ever.
export const DELIVERY_LOG_BYTES_MAX = 8_000_000; // Of one delivery; then its steps go on, and their lines are left out.
export const DELIVERY_LINE_LENGTH_MAX = 4_000; // Longer lines are cut.
export const DELIVERY_COUNT_KEPT = 100; // Of one app, with their logs.
export const STEP_TIMEOUT_MS = 900_000; // Of one of the app's own scripts.
export const BUILDER_MEMORY_BYTES_MAX = 2_147_483_648;
export const BUILDER_CPU_COUNT_MAX = 2;
export const BUILDER_PID_COUNT_MAX = 512;
export const BUILDER_DISK_BYTES_MAX = 2_147_483_648;
export const BUILDER_DISK_FREE_BYTES_MIN = 256_000_000; // With less room left on the machine's own disk, scripts are ended, whoever filled it:
export const BUILDER_DISK_FREE_ENTRY_COUNT_MIN = 10_000; // functions, their stores and the broker live there too. Empty files take no bytes.
export const BUILDER_DISK_LOOK_INTERVAL_MS = 250; // Asking how much is free costs nothing; what a builder itself holds is measured when it matters,
export const BUILDER_DISK_MEASURE_INTERVAL_MS = 10_000; // and this often besides. Measured: 0.1 s for 20,000 files.
export const BUILDER_MEMORY_LOOK_INTERVAL_MS = 500; // Where no kernel bounds it.
export const BUILDER_OUTPUT_BYTES_MAX = 16_000_000; // Of one call of npm; what it prints beyond is read slowly, and left out.
export const BUILDER_TAKE_OUT_TIMEOUT_MS = 300_000; // As much as a source may hold, from a slow disk.
export const RELEASE_COUNT_KEPT = 20; // The latest of an app, and
export const RELEASE_KEPT_MS = 14 * 86_400_000; // those that are younger, and those that are live or can be gone back to at once.
export const COLLECT_INTERVAL_MS = 3_600_000;
export const BUILD_GRACE_MS = 3_600_000; // What was made a moment ago may belong to a release that is not recorded yet.
export const DISK_MEASURE_TIMEOUT_MS = 1_000; // What is not measured by then is left out, and that is said.
export const DISK_MEASURE_ENTRY_COUNT_MAX = 200_000;
export const IMAGE_GRACE_MS = 86_400_000; // An image that nothing stands on yet may be that of another platform, which is being tried out.
export const NPM_CACHE_BYTES_MAX = 2_000_000_000; // Of the engine "process"; a cache that is larger is begun anew.
export const RELEASE_COUNT_KEPT_MAX = 100; // Of an app, however young they are.
export const ROLLBACK_COUNT_KEPT = 10; // Releases before the one that is live, in each environment.

/** Repositories of apps, and git's own clients. */
export const GIT_PUSH_BYTES_MAX = 536_870_912; // Compressed, history included: 512 MiB, as much as one source may have.
export const GIT_REQUEST_BYTES_MAX = 16_000_000; // What a fetch asks for: 50 bytes for each of some 300,000 objects.
export const GIT_REF_COUNT_MAX = 5_000; // That one push changes; all tags of an old project.
export const GIT_REF_NAME_BYTES_MAX = 512; // The parts of a ref are names of files and folders.
export const GIT_FETCH_COUNT_AT_ONCE = 8; // Each keeps a processor busy while it packs.
export const GIT_PUSH_COUNT_AT_ONCE = 16; // Most of them only wait for their delivery.
export const GIT_PUSH_OF_APP_COUNT_AT_ONCE = 4; // One is delivered; the others wait, and must not keep those of other apps out.
export const GIT_WAITING_COUNT_MAX = 64; // Beyond those at once.
export const GIT_SLOT_TIMEOUT_MS = 30_000; // How long one of them waits; clients and proxies do so for a minute.
export const GIT_TURN_TIMEOUT_MS = 300_000; // How long a push or a commit waits for a delivery of the same app.
export const GIT_CALL_TIMEOUT_MS = 7_200_000; // A clone over a slow line, or a push with its delivery.
export const GIT_COMMAND_TIMEOUT_MS = 60_000; // A look into a repository takes milliseconds.
export const GIT_UPKEEP_TIMEOUT_MS = 600_000;
export const GIT_OUTPUT_BYTES_MAX = 4_000_000; // What a command of git may say that is held in memory: a line for each ref of a push.
export const GIT_ALLOCATION_BYTES_MAX = 536_870_912; // Of one process, at once: a source has no larger file.
export const GIT_PRINT_BYTES_PENDING_MAX = 1_000_000; // Of lines that who pushes has not read yet; further ones are left out.
export const GIT_COMMIT_TRY_COUNT_MAX = 5; // A branch that moves again and again meanwhile is somebody else's.
export const GIT_CLOSE_GRACE_MS = 5_000; // What a delivery needs to notice that the platform stops.
export const COMMIT_SUBJECT_LENGTH_MAX = 200;
export const COMMIT_AUTHOR_LENGTH_MAX = 100;
