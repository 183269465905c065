/**
 * tap keeps a list of what each test loads, for coverage, which is off here: half a second of CPU for a file that loads
 * the hub. This is loaded before tap's recorder, and has every module left out.
 */
process.env["_TAPJS_PROCESSINFO_EXCLUDE_"] = "/./";

export {};
