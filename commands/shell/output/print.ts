/** The ways to print on stdout; everything else goes to stderr (docs/options.md). */
export interface Print {
  /**
   * One line of data, without what a terminal would obey: it may hold words of hubs, hosts and plugins, whose line
   * feeds begin no line of their own.
   */
  line: (text: string) => void;
  /** Data of several lines, without what a terminal would obey. */
  text: (text: string) => void;
  /** One NDJSON event of version 1. */
  event: (event: Record<string, unknown> & { event: string }) => void;
}
