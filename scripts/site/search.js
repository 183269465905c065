const index = new MiniSearch({
  fields: ["heading", "page", "text"],
  storeFields: ["heading", "page", "url"],
  searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: "AND" },
});
const box = document.getElementById("search");
const found = document.getElementById("found");
box.addEventListener(
  "focus",
  () => {
    const script = document.createElement("script");
    script.src = `${document.body.dataset.up}/sections.js`;
    script.addEventListener("load", () => {
      index.addAll(window.sections);
      // Words may have been typed meanwhile.
      show();
    });
    document.head.append(script);
  },
  { once: true },
);
box.addEventListener("input", show);

function show() {
  const items = index.search(box.value).slice(0, 12);
  found.replaceChildren(
    ...items.map(({ heading, page, url }) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `${document.body.dataset.up}/${url}`;
      link.textContent = heading === page ? page : `${page}: ${heading}`;
      item.append(link);
      return item;
    }),
  );
}
