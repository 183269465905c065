import t from "tap";
import { isErrorBody, startHub } from "../../support/hub/harness.ts";
import { startReceiver } from "../../support/hub/receiver.ts";
import { allowing } from "../../support/hub/webhooks.ts";

/** Private addresses in every notation that a URL has for them. */
const PRIVATE = [
  ...["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "0"],
  ...["[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"],
  ...["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "[fd00::1]", "[fe80::1]", "localhost", "LOCALHOST."],
  ...["169.254.169.254", "0xa9fea9fe", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]"],
  ...["[::ffff:0:169.254.169.254]", "[::ffff:0:7f00:1]"],
  ...["[fd00:ec2::254]", "168.63.129.16", "100.100.100.200", "①②⑦.⓪.⓪.①", "127。0。0。1", "%31%32%37.0.0.1"],
];

t.test("no webhook leads to an address that is not public, however it is written", async (t) => {
  const hub = await startHub(t, { rateLimits: false });
  const add = (url: string) => hub.call("POST", "/devkeys/webhooks", { json: { url } });
  for (const host of PRIVATE) isErrorBody(t, await add(`https://${host}/hook`), 422, "unprocessable");
  const others = ["http://1.1.1.1/", "ftp://example.org/", "file:///etc/passwd", "https://u:p@example.org/"];
  for (const url of [...others, "https://1.1.1.1:25/", "https://1.1.1.1:22/", "//example.org", "no url", "https://"])
    isErrorBody(t, await add(url), 422, "unprocessable");
  t.strictSame((await hub.call("GET", "/devkeys/webhooks")).body, { items: [], next: null });
});

t.test("what the operator allows is allowed, and nothing beside it", async (t) => {
  const receiver = await startReceiver(t);
  const hub = await startHub(t, allowing("127.0.0.1/32"));
  const add = async (url: string) => (await hub.call("POST", "/devkeys/webhooks", { json: { url } })).status;
  t.equal(await add(receiver.url), 201);
  t.equal(await add(receiver.url.replace("127.0.0.1", "127.0.0.2")), 422);
  t.equal(await add("http://169.254.169.254/latest/meta-data"), 422);
});
