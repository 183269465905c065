// Holds: what is taken out of a log (lib/agent/supervisors/redaction.ts)
import t from "tap";
import { redactor } from "../../../../lib/agent/supervisors/redaction.ts";

t.test("the password inside a URL is hidden where a program prints it alone, in each form", (t) => {
  const password = "s3cr&t/4711 é@x!";
  const written = "s3cr&t%2f4711%20%C3%A9%40x!";
  const hide = redactor([`postgres://shop:${written}@db.example.org/shop`], 1024);
  for (const form of [written, password, encodeURIComponent(password), "s3cr&t%2F4711%20%C3%A9%40x!"])
    t.equal(hide(`no login: user=shop password=${form};`), "no login: user=shop password=[redacted];", form);
  t.equal(hide("shop at db.example.org"), "shop at db.example.org", "the rest helps to find the fault");
  t.end();
});

t.test("so are those of several URLs, in longer values, and a token in the place of a user", (t) => {
  const values = [
    "redis://:first-4711@a:6379,redis://x:second-4711@b:6379",
    '{"amqp": "amqps://u:third:4711@mq/%2f"}',
    "https://ghp_0123456789@git.example.org/shop",
    "postgres://shop:100%sure@db/shop",
  ];
  const hide = redactor(values, 1024);
  for (const part of ["first-4711", "second-4711", "third:4711", "ghp_0123456789", "100%sure"])
    t.equal(hide(`it is ${part}.`), "it is [redacted].", part);
  t.end();
});

t.test("a value is hidden in the form that URLs have of it, too", (t) => {
  const hide = redactor(["p@ss/word#1", "\ud800 is no text"], 1024);
  t.equal(hide("GET /login?key=p%40ss%2Fword%231"), "GET /login?key=[redacted]");
  t.equal(hide("p@ss/word#1"), "[redacted]");
  t.end();
});
