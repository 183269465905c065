import t from "tap";
import { hostLine, hostLineIn } from "../../../../lib/contract/settings/host-line.ts";
import { isReservedSetting, steersNode } from "../../../../lib/contract/settings/reserved-names.ts";
import { settingsDocument } from "../../../../lib/contract/settings/texts.ts";

const KEYS = { x25519: "a1".repeat(32), ed25519: "b2".repeat(32) };

t.test("the line of a host is read as it was written, and nothing else is", async (t) => {
  const line = hostLine(KEYS);
  t.equal(line, `shk1.${KEYS.x25519}.${KEYS.ed25519}`);
  t.same(hostLineIn(`  ${line}\r\n`), KEYS);
  for (const other of [
    ...["", "shk1", `shk2${line.slice(4)}`, line.toUpperCase(), line.slice(0, -1), `${line}0`, `${line}.`],
    ...[`${line}\n${line}`, `x ${line}`, line.replace("a1", "g1"), `shk1.${KEYS.x25519}`],
  ])
    t.equal(hostLineIn(other), undefined, other);
});

t.test("names that run other code, or that the host itself gives, are no settings", async (t) => {
  for (const name of [
    ...["NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "UV_THREADPOOL_SIZE"],
    ...["OPENSSL_CONF", "SSLKEYLOGFILE"],
  ]) {
    t.ok(steersNode(name), name);
    t.ok(isReservedSetting(name), name);
  }
  for (const name of ["PORT", "PORT_ADMIN", "HOST", "HOST_ADMIN", "LISTEN_FDS", "SEALIFT_APP", "PATH", "HOME"]) {
    t.notOk(steersNode(name), name);
    t.ok(isReservedSetting(name), name);
  }
  for (const name of [
    ...["DATABASE_URL", "PORTAL_URL", "HOSTNAME", "HOMEPAGE", "PATHS", "SUPPORT_EMAIL", "NODES", "OPENSSL_CONFIG"],
    ...["LISTENERS", "XPORT", "DB_HOST", "DB_PORT", "_NODE_OPTIONS", "node_options"],
  ])
    t.notOk(isReservedSetting(name), name);
});

t.test("a setting is a text that a program can be given", async (t) => {
  const document = (value: string) => ({
    ...{
      t: "sealift-settings",
      v: 1,
      project: `prj_${"0".repeat(32)}`,
      to: "ab".repeat(32),
      operator: "cd".repeat(32),
    },
    ...{ number: 1, made_at: "2026-01-01T00:00:00Z", apps: { web: { A: value } } },
  });
  for (const value of ["", "one", "two\nlines", "ü 🦦"])
    t.match(settingsDocument.safeParse(document(value)), { success: true }, value);
  for (const value of ["a\0b", "\ud800", "\udfff!"])
    t.match(settingsDocument.safeParse(document(value)), { success: false }, JSON.stringify(value));
});
