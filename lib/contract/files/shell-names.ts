/** Names that shells keep for themselves: setting them would end the shell. */
export const OF_THE_SHELL: ReadonlySet<string> = new Set([
  ...["BASHOPTS", "EUID", "GROUPS", "IFS", "LINENO", "OPTIND", "PPID", "SHELLOPTS", "UID", "_"],
]);
