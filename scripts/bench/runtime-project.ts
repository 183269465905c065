import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Temporary project root whose plugins any sandbox user can read. */
export class BenchProject implements AsyncDisposable {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async create(): Promise<BenchProject> {
    const parent = await mkdtemp(join(tmpdir(), "sealift-bench-"));
    await chmod(parent, 0o755);
    return new BenchProject(parent);
  }

  async write(path: string, content: string): Promise<void> {
    const file = join(this.root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }

  async plugin(
    name: string,
    mode: "trusted" | "sandboxed",
    source: string,
    file = "src/main.mjs",
    more = "",
  ): Promise<void> {
    const limits = "resources:\n  max_memory_mb: 256\n  rate_limit: { calls: 100000000, period_seconds: 1 }\n";
    const descriptor = `name: ${name}\nversion: 1.0.0\nexecution_mode: ${mode}\nentry_point: ${file}\n${limits}${more}`;
    await this.write(`plugins/${name}/plugin.yaml`, descriptor);
    await this.write(`plugins/${name}/${file}`, source);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}

export const KEY = "bench-key-of-the-runtime";

export const configuration = {
  app: { name: "bench", secret_key: KEY, server: { port: 0 } },
  plugins: { strict_trusted: false },
  observability: { logging: { level: "silent" } },
};
