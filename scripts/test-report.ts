/** A test that failed, or a file that did not get to its end. */
export interface Failure {
  file: string;
  /** Title of the outermost test of the file that failed. */
  title: string;
  /** Titles below it, the message, where it failed, and what differs. */
  details: string[];
}

const TEST_FILE = /^test\/.*\.test\.tsx?$/;
const isTestFile = (title: string): boolean => TEST_FILE.test(title);
const SUBTEST = /^( *)# Subtest: (.*)$/;
const RESULT = /^( *)(ok|not ok) \d+(?: - (.*?))?(?: # time=([\d.]+)m?s)?$/;
/** Lines of a diagnostic that help nobody: the way through tap and our helpers, and the source around the line. */
const NOISE =
  /test\/support\/(?:tap-domain|together|tsx)\.ts|Domain\.|^\s*(?:stack|source|columnNumber|(?:type|method|function)Name|is\w+|at):/;
/** Matches what a thread writes about a file that never waits (test/support/together.ts). */
const ENDLESS = /^(test\/.*\.test\.tsx?) does not end$/;

/** Most lines shown of what one failed assertion says. */
const MOST_LINES = 40;

/** Removes the parts of a diagnostic that only repeat the source, and all beyond `MOST_LINES`. */
function shortened(yaml: readonly string[]): string[] {
  const kept: string[] = [];
  let skipsBelow = Infinity;
  for (const line of yaml) {
    const indent = line.search(/\S/);
    if (indent === -1 || indent > skipsBelow) continue;
    skipsBelow = /^\s*source:/.test(line) ? indent : Infinity;
    if (!NOISE.test(line)) kept.push(line);
  }
  const more = kept.length - MOST_LINES;
  return more > 0 ? [...kept.slice(0, MOST_LINES), `… ${more} more lines: npx tap of this file shows them`] : kept;
}

/** Adds the diagnostic to a failure. tap names a file that exceeded its limit there alone. */
function complete(failure: Failure, yaml: readonly string[]): void {
  const [, expired] = /^expired: (test\/.*)$/m.exec(yaml.join("\n")) ?? [];
  if (expired !== undefined && !isTestFile(failure.file))
    Object.assign(failure, { file: expired, title: "does not end" });
  failure.details.push(...shortened(yaml));
}

/** Reads the report of tap, line by line (TAP version 14), and keeps what failed. */
export class TestReport {
  readonly #failures: Failure[] = [];
  /** Open tests from the outermost to the innermost. A result that stands where one began is its end. */
  readonly #open: { indent: number; title: string; hasFailed: boolean }[] = [];
  /** Diagnostic that follows the last result: its mark at the end, its lines so far, and the failure that it is of. */
  #yaml: { end: string; lines: string[]; failure: Failure | undefined } | undefined;
  #isInYaml = false;

  /** Takes the next line. @returns what a person who waits wants to read now, if anything */
  take(line: string): string | undefined {
    if (this.#isYaml(line)) return undefined;
    const [, space, begun] = SUBTEST.exec(line) ?? [];
    if (space !== undefined) this.#open.push({ indent: space.length, title: begun!, hasFailed: false });
    const [, indent, result, said = "", time = "0"] = RESULT.exec(line) ?? [];
    if (indent === undefined) return undefined;
    const ended = this.#open.at(-1)?.indent === indent.length ? this.#open.pop() : undefined;
    if (result === "not ok") {
      const failure = ended?.hasFailed === true ? undefined : this.#keep(said);
      this.#yaml = { end: `${indent}  ...`, lines: [], failure };
    }
    if (ended === undefined || !isTestFile(said)) return undefined;
    return `${result === "ok" ? "  ok" : "FAIL"} ${said} (${(Number(time) / 1000).toFixed(1)} s)`;
  }

  /** Tells whether a line belongs to the diagnostic of the last failure, and keeps it. */
  #isYaml(line: string): boolean {
    if (this.#yaml === undefined) return false;
    const { end, lines, failure } = this.#yaml;
    if (!this.#isInYaml && line !== end.replace("...", "---")) this.#yaml = undefined;
    else if (line !== end) lines.push(line.slice(end.length - 3));
    else {
      if (failure !== undefined) complete(failure, lines.slice(1));
      this.#yaml = undefined;
    }
    this.#isInYaml = this.#yaml !== undefined;
    return this.#isInYaml || line === end;
  }

  /** Keeps a failure in the tests that are open. Their own results only repeat it. */
  #keep(said: string): Failure {
    for (const test of this.#open) test.hasFailed = true;
    const titles = [...this.#open.map(({ title }) => title), said];
    const [file = said, title = said, ...within] = titles.slice(Math.max(titles.findLastIndex(isTestFile), 0));
    const failure = { file, title, details: within.length === 0 ? [] : [within.join(" › ")] };
    this.#failures.push(failure);
    return failure;
  }

  /** Takes the next line of what tap and its processes write beside the report. */
  takeError(line: string): void {
    const [, file] = ENDLESS.exec(line) ?? [];
    if (file !== undefined) this.#failures.push({ file, title: "does not end", details: [] });
  }

  /**
   * Ends the report. A file that began and did not end has failed, too.
   *
   * @returns the failures; those of the processes that run several files only where they are all there is
   */
  end(): Failure[] {
    const titles = this.#open.map(({ title }) => title);
    const [file, title = "does not end"] = titles.slice(Math.max(titles.findLastIndex(isTestFile), 0));
    if (file !== undefined && isTestFile(file)) this.#failures.push({ file, title, details: [] });
    const named = this.#failures.filter(({ file }) => isTestFile(file));
    return named.length > 0 ? named : this.#failures;
  }
}
