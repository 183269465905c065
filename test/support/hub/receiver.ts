/** A receiver of webhooks on a real socket. */
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import { until } from "../until.ts";

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** Answers each message; 204 unless a test says otherwise. */
  answer: (response: ServerResponse, message: Received) => void;
  /** Resolves when so many messages have come. @throws Error after 20 seconds */
  until(count: number): Promise<void>;
}

export async function startReceiver(t: Test): Promise<Receiver> {
  const receiver: Receiver = {
    url: "",
    received: [],
    answer: (response) => response.writeHead(204).end(),
    until: (count) => until(() => receiver.received.length >= count, 20_000),
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    response.on("error", () => {});
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const message = { path: request.url ?? "", headers: request.headers, text, body: JSON.parse(text) as unknown };
      receiver.received.push(message);
      receiver.answer(response, message);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}

/** The signature of a message by the Standard Webhooks specification, with node:crypto alone. */
export function signatureOf({ headers, text }: Received, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${text}`;
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}
