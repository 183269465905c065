/** A program that runs once in the place of a service of systemd, as a unit of its own. */

import { shellDefaults } from "../shell-words.ts";

/** Lines of a service that are of its own program, and of its life. */
const OF_THE_SERVICE =
  /^(?:Type|Exec\w+|Restart\w*|RemainAfterExit|GuessMainPID|PIDFile|BusName|NotifyAccess|Sockets|FileDescriptorStore\w*|WatchdogSec|Timeout(?:Start|Abort|)Sec|RuntimeMaxSec|SuccessExitStatus|Standard\w+|TTY\w*|WorkingDirectory|KillMode|OOMPolicy|RootDirectoryStartOnly)$/;

/**
 * Returns the lines of a service that say who runs it, with what and within which limits. Their order counts: an empty
 * value takes earlier ones back.
 *
 * @param text of the unit and its drop-ins, as `systemctl cat` prints them
 * @param instance of the unit
 */
export function serviceLines(text: string, instance: string): string[] {
  const found: string[] = [];
  let section = "";
  // A backslash at the end of a line joins it with the next one.
  for (const line of text
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((each) => each.trim())) {
    if (line === "" || /^[#;]/.test(line)) continue;
    const [, name] = /^\[(.*)\]$/.exec(line) ?? [];
    if (name !== undefined) section = name;
    else if (section === "Service" && !OF_THE_SERVICE.test(line.slice(0, line.indexOf("=")).trim()))
      found.push(withoutSpecifiers(line, instance));
  }
  return found;
}

const withoutSpecifiers = (line: string, instance: string): string => {
  const values: Record<string, string> = {
    i: instance,
    I: instance,
    S: "/var/lib",
    C: "/var/cache",
    t: "/run",
    "%": "%",
  };
  return line.replace(/%(.)/g, (whole, name: string) => values[name] ?? whole);
};

/**
 * Runs words, and ends with their exit code: 128 and the number of a signal that ended them. A signal to the whole unit
 * does not end the shell itself.
 */
const told = (defaults: Readonly<Record<string, string>>): string =>
  `${shellDefaults(defaults)}trap : HUP INT QUIT TERM USR1 USR2; "$@"; exit $?`;

export interface RunUnit {
  /** Name of the unit, without its ending. */
  unit: string;
  /** Text without the words, for the journal. */
  description: string;
  /** Lines of {@link serviceLines}. */
  lines: readonly string[];
  folder: string;
  /** Variables that count where neither the unit nor its settings have them. */
  defaults: Readonly<Record<string, string>>;
  words: readonly string[];
  scope: "system" | "user";
  /** Whether this process has a terminal. */
  terminal: boolean;
}

/**
 * Returns the command line that runs words as a unit of its own, and ends as they do. It is in a scope that the unit is
 * bound to: whoever kills it ends the unit, too.
 */
export function runUnit({ unit, description, lines, folder, defaults, words, scope, terminal }: RunUnit): string[] {
  const systemdRun = ["systemd-run", `--${scope}`, "--quiet", "--no-ask-password"];
  const bound = `${unit}-bound.scope`;
  const properties = [...lines, `WorkingDirectory=${folder}`, `BindsTo=${bound}`, `After=${bound}`];
  return [
    ...[...systemdRun, "--scope", `--unit=${bound}`, `--description=${description}`],
    ...[...systemdRun, `--unit=${unit}.service`, `--description=${description}`],
    ...["--wait", "--collect", terminal ? "--pty" : "--pipe"],
    ...properties.map((line) => `--property=${line}`),
    // systemd reads variables in the words of a unit; two of these signs are one.
    ...["/bin/sh", "-c", told(defaults), "sh", ...words].map((word) => word.replaceAll("$", "$$$$")),
  ];
}
