/**
 * The way out of a plugin: its services, events and other plugins. In the runtime the broker makes one for each
 * instance, bound to its permissions; in a sandbox's process it is the channel to the runtime.
 * `Call` is how that side knows the call on whose behalf a plugin asks.
 */
export interface PluginPort<Call> {
  /**
   * @param target `database:<name>`, `cache`, `extension:<name>`, `events:<event>` or `plugin:<name>`
   * @param call absent outside of a call
   * @throws RequestFault `permission_denied` and others
   */
  request(target: string, method: string, parameters: unknown[], call: Call | undefined): Promise<unknown>;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Writes one record of a plugin into the runtime's log. */
export type PluginLog = (level: LogLevel, message: string, fields: unknown) => void;
