/** Functions that print on stdout; everything else goes to stderr (docs/options.md). */
export interface Print {
  /**
   * Prints one line of data without control characters: it may contain words of hubs, hosts and plugins, whose line
   * feeds must not begin a line.
   */
  line: (text: string) => void;
  /** Prints data of several lines, without other control characters. */
  text: (text: string) => void;
  /** Prints one NDJSON event of version 1. */
  event: (event: Record<string, unknown> & { event: string }) => void;
}
