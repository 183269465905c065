/** One shared service, as plugins reach it: by method name, with parameters that JSON can carry. */
export interface Service extends AsyncDisposable {
  /** @param caller the plugin that asks, for services that keep plugins apart */
  request(method: string, parameters: unknown[], caller: string): Promise<unknown>;
  /** Rejects when the service cannot do its work. */
  check?(): Promise<void>;
  /** Takes up what has changed on disk; the old state serves when that fails. */
  reload?(): Promise<void>;
}
