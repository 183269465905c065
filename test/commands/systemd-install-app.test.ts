import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import t, { type Test } from "tap";
import { parse } from "yaml";
import { freePort } from "../support/free-port.ts";
import { ApplicationRoot, HANDED_OVER } from "../support/host/application-root.ts";
import { commandLine } from "../support/programs/command-line.ts";
import { needs, programFile } from "../support/programs/optional.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const UNITS = "etc/systemd/system";
const install = (root: string, ...args: string[]) =>
  commandLine(["systemd", "install", "app", ...args, "--root", root, "--project-root", "/srv/harbour"]);
const read = (root: string, path: string): string => readFileSync(join(root, path), "utf8");

t.test("it writes the unit, the application's own part of it, a socket, a user and a grant", async (t) => {
  const root = temporaryFolder(t);
  const { code, stdout, stderr } = await install(root, "web", "--listen", "http=127.0.0.1:3000");
  t.equal(code, 0, stderr);
  t.match(stdout, `${UNITS}/sealift-app@web.socket`);
  const dropIn = read(root, `${UNITS}/sealift-app@web.service.d/sealift.conf`);
  for (const line of [
    "Requires=sealift-app@web.socket",
    "User=app-web",
    "WorkingDirectory=/srv/harbour/apps/web",
    "EnvironmentFile=-/srv/harbour/apps/web.env",
    "EnvironmentFile=/etc/sealift/apps/web.env",
    "BindPaths=/var/lib/sealift-app/web:/srv/harbour/.sealift/data/apps/web",
  ])
    t.ok(dropIn.split("\n").includes(line), line);
  t.match(
    dropIn,
    /^ExecCondition=\/bin\/sh -c '.*' sh \/usr\/bin\/env -i \S+ .*app prepare web --condition --project-root \/srv\/harbour$/m,
  );
  t.match(read(root, "etc/sealift/apps/web.env"), "PORT=3000\nHOST=127.0.0.1\n");
  t.match(read(root, `${UNITS}/sealift-app@web.socket`), "ListenStream=127.0.0.1:3000\nFileDescriptorName=http\n");
  t.match(read(root, "etc/sysusers.d/sealift-app-web.conf"), 'u app-web - "Sealift application web"');
  t.match(
    read(root, "srv/harbour/applications.yaml"),
    /supervisor: systemd\napplications:\n {2}web:\n {4}user: app-web/,
  );
  const everything = [`${UNITS}/sealift-app@.service`, `${UNITS}/sealift-app@web.service.d/sealift.conf`];
  t.notMatch(everything.map((path) => read(root, path)).join(""), /^Exec\w*=[^\n]*[+!]/m, "nothing runs privileged");
});

t.test("an application that listens by itself gets its address and no socket", async (t) => {
  const root = temporaryFolder(t);
  const { code, stderr } = await install(root, "web", "--port", "http=3000", "--port", "metrics=[::1]:9100");
  t.equal(code, 0, stderr);
  const dropIn = read(root, `${UNITS}/sealift-app@web.service.d/sealift.conf`);
  const addresses = read(root, "etc/sealift/apps/web.env");
  t.match(addresses, "PORT=3000\nHOST=127.0.0.1\n");
  t.match(addresses, "PORT_METRICS=9100\nHOST_METRICS=::1\n");
  t.notMatch(dropIn, "socket");
  await install(root, "web", "--listen", "http=3000");
  t.match((await install(root, "web", "--port", "http=3000")).stderr, "from an earlier call");
});

t.test("comments and other grants of the operator stay", async (t) => {
  const root = temporaryFolder(t);
  mkdirSync(join(root, "srv/harbour"), { recursive: true });
  const file = join(root, "srv/harbour/applications.yaml");
  const before = "# ours\nsupervisor: systemd\napplications:\n  # the worker\n  worker:\n    user: w # its own\n";
  writeFileSync(file, before);
  t.equal((await install(root, "web", "--listen", "http=3000")).code, 0);
  const after = readFileSync(file, "utf8");
  t.ok(after.startsWith(before), after);
  t.equal((await install(root, "web", "--port", "http=3001", "--force")).code, 0);
  t.match(readFileSync(file, "utf8"), /web:\n {4}user: app-web\n {4}listen:\n {6}http: 127.0.0.1:3001\n$/);
  writeFileSync(file, before.replace("systemd", "serve"));
  const refused = await install(root, "web", "--listen", "http=3000");
  t.equal(refused.code, 2);
  t.match(refused.stderr, "supervisor: serve");
});

t.test("an application of another root with the same id has units, user, socket and data of its own", async (t) => {
  const root = temporaryFolder(t);
  const of = (projectRoot: string, ...args: string[]) =>
    commandLine(["systemd", "install", "app", "web", "--root", root, "--project-root", projectRoot, ...args]);
  t.equal((await of("/srv/one", "--listen", "http=3000")).code, 0);
  const first = read(root, `${UNITS}/sealift-app@web.service.d/sealift.conf`);
  const second = await of("/srv/two", "--listen", "http=3001");
  t.equal(second.code, 0, second.stderr);
  const [, instance = ""] = /sealift-app@(web-[0-9a-f]{8})\.socket/.exec(second.stdout) ?? [];
  t.match(
    second.stderr,
    `systemctl --root=${root} enable sealift-app@${instance}.socket sealift-app@${instance}.service`,
  );
  const dropIn = read(root, `${UNITS}/sealift-app@${instance}.service.d/sealift.conf`);
  t.match(dropIn, `\nUser=app-${instance}\nWorkingDirectory=/srv/two/apps/web\n`);
  t.match(dropIn, `\nBindPaths=/var/lib/sealift-app/${instance}:/srv/two/.sealift/data/apps/web\n`);
  t.match(read(root, `etc/sysusers.d/sealift-app-${instance}.conf`), `u app-${instance} `);
  t.equal(read(root, `${UNITS}/sealift-app@web.service.d/sealift.conf`), first, "the first one stays as it is");
  t.match(read(root, `${UNITS}/sealift-app@web.socket`), "ListenStream=127.0.0.1:3000");
  t.equal((await of("/srv/two", "--listen", "http=3001")).code, 0, "and so it is the second time");
  t.match(read(root, "srv/two/applications.yaml"), /web:\n {4}user: app-web-[0-9a-f]{8}\n/);

  t.match(await of("/srv/two", "--port", "http=3001", "--force"), { code: 0 });
  t.match(read(root, `${UNITS}/sealift-app@web.service.d/sealift.conf`), "WorkingDirectory=/srv/two/apps/web");
});

t.test("a user is that of one application, and none of the system", async (t) => {
  const root = temporaryFolder(t);
  mkdirSync(join(root, "etc"), { recursive: true });
  writeFileSync(
    join(root, "etc/passwd"),
    "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/:/bin/sh\nours:x:990:990::/:\n",
  );
  for (const user of ["root", "www-data", "nobody", "sealift-watch", "sealift-hub"])
    t.match(await install(root, "web", "--user", user), { code: 2, stderr: /is a user of the system/ }, user);
  t.equal((await install(root, "a.b")).code, 0);
  t.match(await install(root, "a-b"), { code: 2, stderr: /app-a-b is the user of sealift-app@a\.b, and each could/ });
  t.throws(() => read(root, `${UNITS}/sealift-app@a-b.service.d/sealift.conf`), { code: "ENOENT" });
  t.equal((await install(root, "a-b", "--user", "ours")).code, 0);
  t.match(await install(root, "c", "--user", "ours"), { code: 2, stderr: /--force if both are to share it/ });
  t.equal((await install(root, "c", "--user", "ours", "--force")).code, 0);
  t.equal((await install(root, "a.b")).code, 0, "its own user is no other's");
});

t.test("one that is of another application has that one's user, settings and data, and ends before it", async (t) => {
  const root = temporaryFolder(t);
  t.match(await install(root, "worker", "--of", "web"), { code: 2, stderr: /no units of web/ });
  await install(root, "web", "--port", "http=3000", "--user", "shop");
  t.match(await install(root, "worker", "--of", "web", "--user", "other"), { code: 2, stderr: /runs as its user/ });
  const { code, stderr } = await install(root, "worker", "--of", "web");
  t.equal(code, 0, stderr);
  const dropIn = read(root, `${UNITS}/sealift-app@worker.service.d/sealift.conf`);
  for (const line of [
    ...["Wants", "After", "PartOf"].map((key) => `${key}=sealift-app@web.service`),
    ...["User=shop", "WorkingDirectory=/srv/harbour/apps/worker", "EnvironmentFile=-/srv/harbour/apps/web.env"],
    ...["StateDirectory=sealift-app/web", "Environment=HOME=%S/sealift-app/web"],
    "BindPaths=/var/lib/sealift-app/web:/srv/harbour/.sealift/data/apps/web",
  ])
    t.match(dropIn, `\n${line}\n`);
  t.match(parse(read(root, "srv/harbour/applications.yaml")), {
    applications: { web: { user: "shop" }, worker: { of: "web" } },
  });
  t.equal((await install(root, "web", "--port", "http=3000", "--user", "shop")).code, 0, "again");
});

t.test("nothing is started, nor listens, where the running version has no such application", async (t) => {
  const root = temporaryFolder(t);
  await install(root, "web", "--listen", "http=3000");
  const condition = "ConditionPathExists=/srv/harbour/apps/web/.sealift/start";
  for (const path of ["sealift-app@web.service.d/sealift.conf", "sealift-app@web.socket"])
    t.match(read(root, `${UNITS}/${path}`), new RegExp(`^\\[Unit\\]\n(?:.*\n)*?${condition}\n`, "m"), path);
});

t.test("what no unit can have is refused, and nothing is written", async (t) => {
  const root = temporaryFolder(t);
  for (const args of [
    ["../web"],
    ["web", "--listen", "http"],
    ["web", "--listen", "http=localhost:3000"],
    ["web", "--listen", "http=127.0.0.1:3000\nUser=root"],
    ["web", "--listen", "Http=3000"],
    ["web", "--listen", "http=99999"],
    ["web", "--listen", "a=3000", "--listen", "b=3001"],
    ["web", "--listen", "a=3000", "--port", "b=3000"],
    ["a-very-long-name-of-an-application-without-a-user"],
  ])
    t.equal((await install(root, ...args)).code, 2, args.join(" "));
  t.match(await install(root, "web", "--user", "Robert'); --"), { code: 2, stderr: /makes no user's name/ });
  t.match(await install(root, "web", "--user", "root"), { code: 2, stderr: /root is a user of the system/ });
  t.throws(() => read(root, `${UNITS}/sealift-app@.service`), { code: "ENOENT" });
});

t.test(
  "systemd accepts the units, and the application is exposed by at most 2",
  { skip: needs("systemd-analyze") },
  async (t) => {
    const root = temporaryFolder(t);
    await install(root, "web", "--listen", "http=127.0.0.1:3000");
    const unit = join(root, UNITS, "sealift-app@web.service");
    // As systemd joins them for the instance.
    const joined = `${read(root, `${UNITS}/sealift-app@.service`)}\n${read(root, `${UNITS}/sealift-app@web.service.d/sealift.conf`)}`;
    writeFileSync(unit, joined.replaceAll("/srv/harbour/apps/web", root));
    for (const path of [unit, join(root, UNITS, "sealift-app@web.socket")]) {
      const verified = spawnSync("systemd-analyze", ["verify", "--man=no", path], { encoding: "utf8" });
      t.equal(verified.status, 0, verified.stderr);
      t.notMatch(verified.stderr, "sealift-app", path);
    }
    const args = ["security", "--offline=true", "--no-pager", "--threshold=20", unit];
    const judged = spawnSync("systemd-analyze", args, { encoding: "utf8" });
    t.equal(judged.status, 0, judged.stdout.trim().split("\n").at(-1) ?? "");
  },
);

const PYTHON = `
import http.server, os, socket
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(str(os.getpid()).encode())
server = http.server.HTTPServer(("", 0), Handler, bind_and_activate=False)
server.socket = socket.socket(fileno=3)
server.handle_request()
`;

// Without net/http, which takes far longer to compile.
const GO = `package main

import (
	"bufio"
	"net"
	"os"
	"strconv"
)

func main() {
	listener, err := net.FileListener(os.NewFile(3, "http"))
	if err != nil {
		panic(err)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		bufio.NewReader(connection).ReadString('\\n')
		connection.Write([]byte("HTTP/1.0 200 OK\\r\\n\\r\\n" + strconv.Itoa(os.Getpid())))
		connection.Close()
	}
}
`;

/** Compiles a program of Go. @returns its file */
function compiled(t: Test, source: string): string {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "server.go"), source);
  const env = {
    ...process.env,
    GOCACHE: join(folder, "cache"),
    GOPATH: join(folder, "path"),
    CGO_ENABLED: "0",
    GOFLAGS: "",
  };
  const built = spawnSync(programFile("go"), ["build", "-o", "server", "server.go"], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  t.equal(built.status, 0, built.stderr);
  return join(folder, "server");
}

/** Starts the launcher of a release as systemd does when the first connection comes, and asks it. */
async function activated(t: Test, command: readonly string[], files: Record<string, string>): Promise<string> {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { app: { listen: ["http"] }, command, files });
  const port = await freePort();
  const child = spawn(
    programFile("systemd-socket-activate"),
    ["--listen", `127.0.0.1:${port}`, "--fdname=http", "/bin/sh", ".sealift/start"],
    { cwd: join(root.layout.root, "apps/web"), stdio: ["ignore", "ignore", "pipe"] },
  );
  t.teardown(() => child.kill("SIGKILL"));
  await once(child.stderr, "data");
  const ask = (): Promise<string | undefined> =>
    new Promise((resolve) => {
      get({ port, host: "127.0.0.1", agent: false }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += String(chunk)));
        response.on("end", () => resolve(text));
      }).on("error", () => resolve(undefined));
    });
  let answer: string | undefined;
  await until(async () => (answer = await ask()) !== undefined);
  return `${answer} ${child.pid}`;
}

t.test("the launcher takes systemd's socket, in the process that systemd started", async (t) => {
  await t.test("with Node", { skip: needs("systemd-socket-activate") }, async (t) => {
    const [answered, started] = (await activated(t, ["node", "server.js"], { "server.js": HANDED_OVER })).split(" ");
    t.equal(answered, started);
  });
  await t.test("with Python", { skip: needs("systemd-socket-activate", "python3") }, async (t) => {
    const answer = await activated(t, [programFile("python3"), "server.py"], { "server.py": PYTHON });
    t.match(answer, /^\d+ \d+$/);
  });
  await t.test("with Go", { skip: needs("systemd-socket-activate", "go") }, async (t) => {
    const [answered, started] = (await activated(t, [compiled(t, GO)], {})).split(" ");
    t.equal(answered, started);
  });
});

t.test("what a release asks gets units and grants at once, after somebody agrees", async (t) => {
  const [root, project] = [temporaryFolder(t), temporaryFolder(t)];
  for (const [id, text] of Object.entries({
    night: 'of: web\ncommand: [node, night.js]\nschedule: "30 3 * * *"\n',
    web: "command: [node, server.js]\nlisten: [http]\nports: [metrics]\nlimits: { memory: 512M }\n",
    worker: "command: [node, worker.js]\nhealth: { command: [node, check.js] }\n",
  })) {
    mkdirSync(join(project, "apps", id), { recursive: true });
    writeFileSync(join(project, "apps", id, "app.yaml"), text);
  }
  const refused = await install(root, "--from", project);
  t.match(refused, { code: 2, stderr: /Nothing was allowed.*\n.*--yes/ });
  t.match(
    refused.stderr,
    /web {2}node server\.js\n {2}addresses http 127\.0\.0\.1:\d+, metrics 127\.0\.0\.1:\d+\n {2}limits +512M memory/,
  );
  t.match(refused.stderr, /worker {2}node worker\.js\n {2}asks +node check\.js/);
  t.notOk(existsSync(join(root, "srv")), "nothing was written");
  const planned = await install(root, "--from", project, "--dry-run", "--json");
  t.equal(planned.code, 0, planned.stderr);
  t.notOk(existsSync(join(root, "srv")));

  const { code, stdout, stderr } = await install(root, "--from", project, "--yes", "--json");
  t.equal(code, 0, stderr);
  const { next } = JSON.parse(stdout.trim().split("\n").at(-1)!) as { next: string[] };
  t.equal(next.length, 3, "one step to enable each");
  const grants = parse(read(root, "srv/harbour/applications.yaml")) as { applications: Record<string, object> };
  t.match(grants.applications, {
    web: { user: "app-web", listen: { http: /^127/, metrics: /^127/ }, limits: { memory: "512M" } },
    worker: { user: "app-worker" },
    night: { of: "web" },
  });
  t.match(read(root, `${UNITS}/sealift-app@web.socket`), "FileDescriptorName=http\n");
  t.match(read(root, `${UNITS}/sealift-app@web.service.d/sealift.conf`), "MemoryMax=512M");
  t.match(read(root, `${UNITS}/sealift-job@night.service.d/sealift.conf`), "User=app-web");
  t.match(
    read(root, `${UNITS}/sealift-check@worker.service.d/sealift.conf`),
    /ConditionPathExists=\/srv\/harbour\/apps\/worker\/\.sealift\/check\n(?:.*\n)*User=app-worker/,
  );
  t.match(
    read(root, `${UNITS}/sealift-jobs.target.d/worker.conf`),
    "After=sealift-job@worker.service sealift-check@worker.service\n",
  );
  const again = await install(root, "--from", project, "--yes", "--json");
  t.equal(again.code, 0, again.stderr);
  t.strictSame(parse(read(root, "srv/harbour/applications.yaml")), grants, "again, nothing of it changes");

  t.match(await install(root, "--from", project, "--user", "shop", "--yes"), {
    code: 2,
    stderr: /one user, and several/,
  });
  t.match(await install(root, "worker", "--from", project, "--yes"), { code: 0 });
  t.match(await install(root), { code: 2, stderr: /Give the id of an application.*--from/ });
  writeFileSync(join(project, "apps/web/app.yaml"), "command: [node, server.js]\nlisten: [http, other]\n");
  t.match(await install(root, "--from", project, "--yes"), { code: 2, stderr: /names one socket/ });
});
