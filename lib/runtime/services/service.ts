/** Shared service as plugins reach it: by method name, with parameters in JSON. */
export interface Service extends AsyncDisposable {
  /** @param caller plugin that makes the request, for services that separate plugins */
  request(method: string, parameters: unknown[], caller: string): Promise<unknown>;
  /** Checks the service. Rejects when it does not work. */
  check?(): Promise<void>;
  /** Applies changes on disk; if that fails, the old state serves. */
  reload?(): Promise<void>;
}
