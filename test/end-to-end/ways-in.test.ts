// Only in test:all: systemd boots, and Ansible or cloud-init brings it a host that runs an application.
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { fetchPackages } from "../../scripts/build/libraries.ts";
import { requireProcessor } from "../../scripts/build/platforms.ts";
import { addToRepository } from "../../scripts/release/apt.ts";
import { ReleaseKey } from "../../scripts/release/key.ts";
import { SHOP_APP, SHOP_SERVER } from "../support/host/settings-shop.ts";
import { needs } from "../support/programs/optional.ts";
import { SystemdMachine } from "../support/programs/systemd-machine.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const HUB = "http://127.0.0.1:8787";
const REPOSITORY = "/srv/repository";
/** Program of the controller and the hub, which is none of the package. */
const CONTROLLER = "/opt/controller/sealift";
const OPERATOR = ["--operator-key", "/root/operator/signer.key"];
/** Debian's packages of cloud-init, which acts at boot where it is installed: here it is only unpacked. */
const CLOUD_INIT = [
  ..."cloud-init python3-attr python3-configobj python3-json-pointer python3-jsonpatch".split(" "),
  ..."python3-jsonschema python3-netifaces python3-pyrsistent python3-serial python3-six".split(" "),
  ..."python3-requests python3-urllib3 python3-charset-normalizer python3-chardet python3-idna".split(" "),
  ..."python3-certifi python3-yaml python3-jinja2 python3-markupsafe python3-oauthlib".split(" "),
];

const isRoot = process.getuid?.() === 0;
const skip =
  needs("systemd-nspawn", "apt-ftparchive", "apt-get", "dpkg-deb", "gpg", "strip", "tar", "curl") ||
  (!isRoot && "needs root");

/** Builds the program and an apt repository with its package. */
function builtRepository(t: Test): { program: string; repository: string } {
  const folder = temporaryFolder(t);
  execFileSync(process.execPath, ["scripts/build/one-file.ts", folder], { stdio: "ignore" });
  execFileSync(process.execPath, ["scripts/build/deb.ts", folder, "--compression", "none"], { stdio: "ignore" });
  const [program = ""] = globSync(join(folder, "sealift-*-linux-*"));
  const repository = join(folder, "repository");
  mkdirSync(repository);
  using key = new ReleaseKey();
  addToRepository(repository, globSync(join(folder, "*.deb")), key, 1_790_000_000);
  return { program, repository };
}

/**
 * Boots a machine that has a hub with a version of Shop, and Sealift in an apt repository alone.
 *
 * @param debs packages that are unpacked in it
 */
async function machineWithHub(
  t: Test,
  { program, repository }: ReturnType<typeof builtRepository>,
  debs: readonly string[] = [],
) {
  const machine = await SystemdMachine.boot(t, (root) => {
    // dpkg-deb alone would put a folder in the place of the link /lib.
    for (const deb of debs)
      execFileSync("sh", ["-c", 'dpkg-deb --fsys-tarfile "$0" | tar -x --keep-directory-symlink -C "$1"', deb, root]);
    mkdirSync(join(root, CONTROLLER, ".."), { recursive: true });
    copyFileSync(program, join(root, CONTROLLER));
    cpSync(repository, join(root, REPOSITORY), { recursive: true });
    copyFileSync(process.execPath, join(root, "usr/local/bin/node"));
    // The machine has no network, and none of these is asked.
    for (const list of globSync(join(root, "etc/apt/{sources.list,sources.list.d/*}"))) rmSync(list);
  });
  const run = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await machine.run(...words);
    if (code !== 0) throw new Error(`${words.join(" ")}: ${stdout}${stderr}`);
    return stdout.trim();
  };
  await run("systemd-run", "--quiet", "--unit=hub", CONTROLLER, ..."hub serve --data-dir /var/lib/hub".split(" "));
  await run(..."curl --silent --fail --retry 50 --retry-connrefused --retry-delay 1".split(" "), `${HUB}/readyz`);
  const sealift = (...words: string[]): Promise<string> =>
    run(CONTROLLER, ...words, "--hub-url", HUB, "--api-key-file", "/var/lib/hub/admin.key");
  const project = await sealift("project", "create", "Shop");
  for (const name of ["keys", "operator"]) await run(CONTROLLER, "signer", "create", "--out", `/root/${name}`);
  machine.write("/root/shop/apps/web/app.yaml", SHOP_APP);
  machine.write("/root/shop/apps/web/server.js", SHOP_SERVER);
  machine.write(
    "/root/shop/deployment/install.yaml",
    `format_version: "1"\nproject_id: ${project}\nsteps: [{ id: web, action: install_app, app: web }]\n`,
  );
  const signing = ["--signing-key-file", "/root/keys/signer.key"];
  await sealift("project", "publish", "/root/shop", "--project-id", project, "--version", "1.0.0", ...signing);
  const token = await sealift("host", "invite", "--project", "Shop", "--label", "env=prod", ...OPERATOR);
  const settings = [{ match: { env: "prod" }, apps: { web: { SECRET: "planted-c0ffee" } } }];
  machine.write("/root/fleet.yaml", JSON.stringify({ project: "Shop", settings }));
  return { machine, run, sealift, token };
}

t.test("a host gets Sealift, joins and runs an application", { skip, timeout: 900_000 }, (t) => {
  const built = builtRepository(t);

  t.test("by the role of Ansible, twice", { skip: needs("ansible-playbook", "python3-apt") }, async (t) => {
    const { machine, run, token } = await machineWithHub(t, built);
    const place = "/root/ansible";
    cpSync("ops/ansible", machine.path(place), { recursive: true });
    machine.write(`${place}/shop.token`, token, 0o600);
    const local = "ansible_connection=local ansible_python_interpreter=/usr/bin/python3";
    machine.write(`${place}/hosts.ini`, `pier-7 ${local}\n`);
    const given = {
      ...{ sealift_repository: `file:${REPOSITORY}`, sealift_repository_key: `${REPOSITORY}/sealift-release.asc` },
      ...{ sealift_hub_url: HUB, sealift_api_key_file: "/var/lib/hub/admin.key" },
      ...{ sealift_fleet_file: "/root/fleet.yaml", sealift_operator_key: "/root/operator/signer.key" },
    };
    const path = `PATH=/opt/controller:${process.env["PATH"]!}`;
    const play = (): Promise<string> =>
      run(
        ...["env", `--chdir=${place}`, path, "ansible-playbook", "--inventory", "hosts.ini", "site.yml"],
        ...["--extra-vars", JSON.stringify(given)],
      );
    const first = await play();
    t.match(first, /pier-7 +: ok=\d+ +changed=[1-9]\d* +unreachable=0 +failed=0/, first);
    t.match(first, /changed: \[pier-7 -> localhost\]/, "the settings are new");
    t.match(await machine.show("sealift-watch@shop", "ActiveState"), { ActiveState: "active" });
    t.match(await run("curl", "--silent", "http://127.0.0.1:3000/"), "planted-c0ffee");
    t.equal(await run("dpkg-query", "--show", "--showformat=${Status}", "sealift"), "install ok installed");
    t.equal((await machine.run("test", "-e", "/run/sealift-join.token")).code, 1, "no token is left");

    const second = await play();
    t.match(second, /pier-7 +: ok=\d+ +changed=0 +unreachable=0 +failed=0/, second);
  });

  t.test("by cloud-init, at its first boot", async (t) => {
    const packages = temporaryFolder(t);
    fetchPackages(packages, requireProcessor(process.arch), CLOUD_INIT);
    const debs = globSync(join(packages, "*.deb"));
    const { machine, run, sealift, token } = await machineWithHub(t, built, debs);
    // Its services would begin by themselves.
    await run("systemctl", "mask", "cloud-init-local", "cloud-init", "cloud-config", "cloud-final");
    const indented = (text: string, by: number): string => text.trimEnd().replaceAll("\n", `\n${" ".repeat(by)}`);
    const data = readFileSync("ops/cloud-init/host.yaml", "utf8")
      .replace("https://packages.example.org", `file:${REPOSITORY}`)
      .replace(
        /-----BEGIN PGP[^]*?END PGP PUBLIC KEY BLOCK-----/,
        indented(readFileSync(join(built.repository, "sealift-release.asc"), "utf8"), 8),
      )
      .replace("sjt_…", token)
      .replace("https://hub.example.org", HUB);
    machine.write("/var/lib/cloud/seed/nocloud/user-data", data, 0o600);
    machine.write("/var/lib/cloud/seed/nocloud/meta-data", "instance-id: pier-7\n");
    // What else it would do at a first boot is of no matter here, such as new keys of SSH.
    machine.write(
      "/etc/cloud/cloud.cfg.d/99-test.cfg",
      `datasource_list: [NoCloud]
network: { config: disabled }
cloud_init_modules: [write_files]
cloud_config_modules: [apt_configure, runcmd]
cloud_final_modules: [package_update_upgrade_install, scripts_user]
`,
    );
    t.match(await run("cloud-init", "schema", "--config-file", "/var/lib/cloud/seed/nocloud/user-data"), "Valid");
    for (const stage of ["init --local", "init", "modules --mode config", "modules --mode final"])
      await run("cloud-init", ...stage.split(" "));
    t.match(await machine.show("sealift-watch@shop", "ActiveState"), { ActiveState: "active" });
    await sealift("settings", "apply", "/root/fleet.yaml", ...OPERATOR, "--accept-new", "--wait", "60s");
    t.match(await run("curl", "--silent", "http://127.0.0.1:3000/"), "planted-c0ffee");
    t.equal((await machine.run("test", "-e", "/run/sealift-join.token")).code, 1, "no token is left");
  });
  t.end();
});
