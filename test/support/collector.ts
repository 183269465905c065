import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A span as a collector gets it. */
export interface CollectedSpan {
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code?: number };
  attributes: Record<string, string | number | boolean>;
}

interface OtlpAttribute {
  key: string;
  value: { stringValue?: string; intValue?: string; doubleValue?: number; boolValue?: boolean };
}

const read = (attributes: OtlpAttribute[]): CollectedSpan["attributes"] =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  );

/** A collector of traces: an OTLP/HTTP server that keeps what it gets. */
export interface Collector extends AsyncDisposable {
  url: string;
  spans: CollectedSpan[];
  /** Everything that came, as text, with the headers. */
  texts: string[];
  headers: Record<string, string | string[] | undefined>[];
  /** The status of the next answers. Default 200. */
  status: number;
}

export async function startCollector(): Promise<Collector> {
  const collector: Omit<Collector, "url" | keyof AsyncDisposable> = { spans: [], texts: [], headers: [], status: 200 };
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      collector.headers.push(request.headers);
      collector.texts.push(text);
      response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
      if (collector.status !== 200 || request.url !== "/v1/traces") return;
      const { resourceSpans } = JSON.parse(text) as {
        resourceSpans: {
          resource: { attributes: OtlpAttribute[] };
          scopeSpans: { spans: (Omit<CollectedSpan, "attributes"> & { attributes: OtlpAttribute[] })[] }[];
        }[];
      };
      for (const { resource, scopeSpans } of resourceSpans) {
        const service = String(read(resource.attributes)["service.name"]);
        for (const span of scopeSpans.flatMap(({ spans }) => spans))
          collector.spans.push({ ...span, service, attributes: read(span.attributes) });
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(collector, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
