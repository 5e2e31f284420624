// Elements, and the two lines that speak to the user. Every text is set as text, never as HTML.

export const $ = (id) => document.getElementById(id);

export function element(kind, facts, ...inner) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(facts || {})) {
    if (value === null || value === undefined) continue;
    if (name === "text") made.textContent = value;
    else if (name === "click") made.addEventListener("click", value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...inner.filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

export const button = (text, click, facts) =>
  element("button", { type: "button", text, click, ...facts });

export function say(words) {
  $("said").textContent = words;
  if (words) $("wrong").textContent = "";
}

export function complain(words) {
  $("wrong").textContent = words;
  if (words) $("said").textContent = "";
}

export const count = (number) => Number(number).toLocaleString("en");

export function short(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "";
  if (number !== 0 && (Math.abs(number) < 1e-4 || Math.abs(number) >= 1e7)) {
    return number.toExponential(2).replace(/\.?0+e/, "e").replace(/e([+-])(\d)$/, "e$10$2"); // as the plan writes it
  }
  return Number(number.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
}

// the children are replaced only where they are not the same, so that the focus stays
export function arrange(place, wanted) {
  const there = [...place.children];
  if (there.length === wanted.length && wanted.every((one, at) => one === there[at])) return;
  place.replaceChildren(...wanted);
}

export function table(caption, heads, rows, facts) {
  const cell = (value) => element("td", { text: typeof value === "number" ? short(value) : value || "" });
  return element("table", facts || {}, caption ? element("caption", { text: caption }) : null,
    element("thead", {}, element("tr", {}, ...heads.map((text) =>
      text ? element("th", { scope: "col", text }) : element("td")))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell)))));
}
