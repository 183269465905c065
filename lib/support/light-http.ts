/** The members of Node's WebSocket client that `node:http` re-exports. */
const HEAVY = ["WebSocket", "CloseEvent", "MessageEvent"];

/**
 * Keeps the first ES import of `node:http` from loading Node's WebSocket client: the import reads every enumerable
 * export, and these three load undici, 50 ms of processor time that no command of ours has a use for. They stay where
 * they are, for whoever asks the module for them. Not for programs that run other people's plugins: an ES import by one
 * of these names no longer finds it.
 */
export function lightenHttp(): void {
  const http = process.getBuiltinModule("node:http") as object;
  for (const name of HEAVY) {
    const property = Object.getOwnPropertyDescriptor(http, name);
    if (property?.configurable === true) Object.defineProperty(http, name, { ...property, enumerable: false });
  }
}
