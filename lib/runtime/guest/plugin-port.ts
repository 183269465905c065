/**
 * Port of a plugin to services, events and other plugins. In the runtime the broker makes one for each instance, bound
 * to its permissions; in a sandbox's process it is the channel to the runtime. `Call` is the type by which that side
 * identifies the plugin's current call.
 */
export interface PluginPort<Call> {
  /**
   * @param target `database:<name>`, `cache`, `extension:<name>`, `events:<event>` or `plugin:<name>`
   * @param call undefined outside of a call
   * @throws RequestFault `permission_denied` and others
   */
  request(target: string, method: string, parameters: unknown[], call: Call | undefined): Promise<unknown>;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Writes one record of a plugin into the runtime's log. */
export type PluginLog = (level: LogLevel, message: string, fields: unknown) => void;
