// The only script of the pages. Every page reads and works without it: it shows times in the reader's zone, copies
// commands, and updates a page when the hub reports a change.

/** Range of delays after a change, in milliseconds, so that readers of one page do not reload at the same moment. */
const REFRESH_MS = [500, 2000];

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const toTheSecond = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

function showTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    time.textContent = ("seconds" in time.dataset ? toTheSecond : short).format(at);
    time.title = `${exact.format(at)} (${time.dateTime})`;
  }
}

const news = document.getElementById("news");

function offerCopies(root) {
  for (const command of root.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = command.querySelector("code").textContent;
      await navigator.clipboard?.writeText(text).then(
        () => (button.textContent = "Copied"),
        () => (button.textContent = "Press Ctrl+C"),
      );
      news.textContent = button.textContent;
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    command.append(button);
  }
}

function prepare(root) {
  showTimes(root);
  offerCopies(root);
}

/** Replaces parts of the page by newly read ones, except those that the reader is using. */
function replaceParts(text) {
  const read = new DOMParser().parseFromString(text, "text/html");
  let changed = false;
  for (const old of document.querySelectorAll("[data-live]")) {
    const part = read.getElementById(old.id);
    if (part === null || old.contains(document.activeElement) || old.querySelector("details[open]")) continue;
    const fresh = document.importNode(part, true);
    prepare(fresh);
    if (fresh.textContent === old.textContent) continue;
    old.replaceWith(fresh);
    changed = true;
  }
  if (changed) news.textContent = "The page is up to date.";
}

/**
 * Reloads the page soon after a change, once for all changes of that time. A hidden page holds no stream: browsers open
 * few connections to one hub.
 */
function follow(source) {
  let timer;
  let changes;
  const refresh = async () => {
    timer = undefined;
    const answer = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => undefined);
    if (answer?.ok && !answer.redirected) replaceParts(await answer.text());
  };
  const soon = () => {
    const [least, most] = REFRESH_MS;
    timer ??= setTimeout(refresh, least + Math.random() * (most - least));
  };
  const listen = () => {
    changes?.close();
    if (document.hidden) return;
    changes = new EventSource(source);
    changes.addEventListener("change", soon);
  };
  document.addEventListener("visibilitychange", () => {
    listen();
    if (!document.hidden) void refresh();
  });
  addEventListener("pagehide", () => changes?.close());
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  listen();
}

const zoneNote = document.querySelector("[data-zone]");
if (zoneNote !== null) zoneNote.textContent = `Times are in ${zone.replaceAll("_", " ")}.`;
prepare(document);
const live = document.querySelector("[data-live]");
if (live !== null) follow(live.dataset.live);
