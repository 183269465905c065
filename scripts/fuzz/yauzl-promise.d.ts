declare module "yauzl-promise" {
  interface Entry {
    filename: string;
    openReadStream(): Promise<NodeJS.ReadableStream & AsyncIterable<Uint8Array>>;
  }
  interface Zip extends AsyncIterable<Entry> {
    close(): Promise<void>;
  }
  export function open(path: string): Promise<Zip>;
}
