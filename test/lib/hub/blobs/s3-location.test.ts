import t from "tap";
import { parseS3Url } from "../../../../lib/hub/blobs/s3-location.ts";

t.test("bucket, prefix and parameters are read", async (t) => {
  t.strictSame(parseS3Url("s3://blobs"), { bucket: "blobs", prefix: "", pathStyle: false, direct: true });
  t.strictSame(parseS3Url("s3://my.bucket/a/b/?region=eu-west-1"), {
    bucket: "my.bucket",
    prefix: "a/b/",
    region: "eu-west-1",
    pathStyle: false,
    direct: true,
  });
  t.strictSame(parseS3Url("s3://blobs/hub?endpoint=https%3A%2F%2Fs3.example%3A9000&downloads=hub"), {
    bucket: "blobs",
    prefix: "hub/",
    endpoint: "https://s3.example:9000",
    pathStyle: true,
    direct: false,
  });
  t.match(parseS3Url("s3://blobs?endpoint=https://s3.example&path-style=false"), { pathStyle: false });
});

t.test("whatever is wrong is named, and credentials never come back", async (t) => {
  const wrong: [url: string, message: RegExp][] = [
    ["s3://", /bucket/],
    ["s3://UPPER_case", /bucket/],
    ["s3:blobs", /bucket/],
    ["s3://AKIA:verysecret@blobs", /credentials/],
    ["s3://blobs?secret=verysecret", /"secret" is not a parameter/],
    ["s3://blobs?endpoint=ftp://x", /endpoint/],
    ["s3://blobs?endpoint=s3.example", /endpoint/],
    ["s3://blobs?path-style=1", /path-style is true or false/],
    ["s3://blobs?downloads=no", /downloads is direct or hub/],
  ];
  for (const [url, message] of wrong) {
    t.throws(() => parseS3Url(url), { kind: "UsageError", code: "usage", message }, url);
    try {
      parseS3Url(url);
    } catch (error) {
      t.notMatch(JSON.stringify(error), /verysecret/);
    }
  }
});
