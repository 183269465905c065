// Holds: where an application is asked whether it works (lib/releases/health-url.ts)
import t from "tap";
import { application } from "../../../lib/contract/files/application.ts";
import { applicationsFile } from "../../../lib/contract/files/applications.ts";
import { healthUrl } from "../../../lib/releases/health-url.ts";

const APP = application.parse({ command: ["node"], ports: ["http"], health: { http: "/healthz" } });

t.test("an application is asked at its address, and one without is named with what to do", (t) => {
  const url = (listen: object, app = APP): string | undefined => {
    const grants = applicationsFile.parse({ supervisor: "serve", applications: { web: { same_user: true, listen } } });
    return healthUrl(grants, "web", app)?.href;
  };
  t.equal(url({ http: 3000 }), "http://127.0.0.1:3000/healthz");
  t.equal(url({ http: "[::1]:3000" }), "http://[::1]:3000/healthz");
  t.equal(url({}, application.parse({ command: ["node"], ports: ["http"] })), undefined, "it names no path");
  t.throws(() => url({}), {
    code: "supervisor_unavailable",
    message: "applications.yaml gives web no address for http.",
    hint: /app allow web --listen http=/,
  });
  t.end();
});
