import { isIP } from "node:net";

/** Parses the address of a listener. @throws Error whose message continues "--listen …" */
export function parseListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535)
    throw new Error(`is HOST:PORT, such as 127.0.0.1:8000 or [::1]:0, not ${JSON.stringify(text)}`);
  return { host, port };
}

/** Parses an address or a network. @throws Error whose message continues "--trusted-proxy …" */
export function networkOf(text: string): string {
  const [address = "", bits, ...rest] = text.split("/");
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address) as 0 | 4 | 6];
  const isNetwork = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
  if (most > 0 && isNetwork && rest.length === 0) return text;
  throw new Error(`is an IP address or a network such as 10.0.0.0/8, not ${JSON.stringify(text)}`);
}

/** Parses a host name, an address or a network. @throws Error whose message continues "--name …" */
export function parsePlace(text: string): string {
  if (/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(text) && /[a-z]/i.test(text)) return text.toLowerCase();
  try {
    return networkOf(text);
  } catch {
    throw new Error(`is a host name, an address or a network such as 10.0.0.0/8, not ${JSON.stringify(text)}`);
  }
}
