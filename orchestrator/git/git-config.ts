// The only configuration that our git reads, as text: what it never does, what a push may bring, how much memory it takes. Pure.

export const gitConfig = (hooksFolder: string): string => `# Written by orchestrator whenever it differs; changes are lost.
[core]
	hooksPath = ${quoted(hooksFolder)}
	bigFileThreshold = 16m # Larger files pass through, instead of being held in memory.
	fsync = committed,reference # What was answered for survives a power failure.
	logAllRefUpdates = false
[init]
	defaultBranch = main
[safe]
	directory = * # A home that was copied by someone else is still ours; nobody but this platform reads this file.
[protocol]
	allow = never # Nothing of ours ever asks another server.
[transfer]
	fsckObjects = true
	unpackLimit = 1 # One pack for each push: nothing is unpacked that was not checked.
[receive]
	denyDeleteCurrent = refuse
	denyNonFastForwards = false # Replacing history is its owner's choice.
	autoGc = false
	keepAlive = 5
[receive "fsck"] # Harmless, and found in old histories that nobody can change any more.
	badTimezone = ignore
	missingSpaceBeforeDate = ignore
	zeroPaddedFilemode = ignore
[uploadpack]
	keepAlive = 5
[fastimport]
	unpackLimit = 1
[pack]
	threads = 1
	windowMemory = 64m
	deltaCacheSize = 64m
[gc]
	auto = 0 # The platform says when.
	autoDetach = false
[maintenance]
	auto = false
`;

/** As git-config(1) reads it; "#" and ";" would begin a comment. */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t")}"`;
