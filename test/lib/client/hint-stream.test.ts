import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { followHints } from "../../../lib/client/hint-stream.ts";
import type { ChangeHint } from "../../../lib/contract/surfaces/changes.ts";

t.test("a stream of events is one in whatever case its media type is written", async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "Text/EVENT-STREAM;Charset=UTF-8" });
    response.end(`id: e-1\nevent: changed\ndata: {"targets":["plugin:tide"],"spread_ms":0}\n\n`);
  }).listen(0, "127.0.0.1");
  t.teardown(() => server.close());
  await once(server, "listening");
  const hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const heard: ChangeHint[] = [];
  const hub = { hubUrl, apiKey: "slk_key", timeoutMs: 5000 };
  await followHints(["plugin:tide"], hub, { onOpen: () => {}, onHint: (hint) => heard.push(hint) });
  t.strictSame(heard, [{ targets: ["plugin:tide"], spread_ms: 0 }]);
});
