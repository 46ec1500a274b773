// Looks at the page in each frame and writes what it finds as JSON into #found.
"use strict";

const luminance = (colour) => {
  const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
  const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
};
const contrast = (a, b) => {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const transparent = (colour) => /, 0\)$/.test(colour);

const measure = (frame) => {
  const page = frame.contentDocument;
  const style = (node) => page.defaultView.getComputedStyle(node);
  const visible = (node) => node.getClientRects().length > 0;
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = style(at).backgroundColor;
      if (!transparent(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  page.querySelectorAll("details").forEach((details) => { details.open = true; });

  let text = Infinity;
  const words = [...page.querySelectorAll("body *:not(svg *)")].filter((node) => visible(node)
    && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
  for (const node of words) text = Math.min(text, contrast(style(node).color, ground(node)));

  const charts = [...page.querySelectorAll("svg")].filter(visible);
  const grounds = (selectors) => charts.flatMap((svg) => [style(svg).backgroundColor,
    ...selectors.flatMap((s) => [...svg.querySelectorAll(s)].map((node) => style(node).fill))]);
  const onAll = grounds([".box", ".block", ".run"]);
  const onSome = grounds([".box"]);
  let letters = Infinity;
  let outside = 0;
  let overlapping = 0;
  let marks = Infinity;
  for (const svg of charts) {
    const frame = svg.getBoundingClientRect();
    for (const node of svg.querySelectorAll("text")) {
      const behind = node.classList.contains("muted") ? onSome : onAll;
      for (const colour of behind) letters = Math.min(letters, contrast(style(node).fill, colour));
      const box = node.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1) outside += 1;
    }
    const boxes = [...svg.querySelectorAll("text")].map((node) => node.getBoundingClientRect());
    boxes.forEach((a, index) => boxes.slice(index + 1).forEach((b) => {
      const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
      overlapping += apart ? 0 : 1;
    }));
    for (const node of svg.querySelectorAll(".mark, .reserved, .used, .tie, .asked")) {
      marks = Math.min(marks, contrast(style(node).stroke, style(svg).backgroundColor));
    }
  }
  const scrolling = [...page.querySelectorAll(".scroll")].filter(visible);
  return {
    what: frame.title,
    page_width: page.documentElement.scrollWidth,
    frame_width: page.documentElement.clientWidth,
    smallest_letters_px: Math.min(...charts.flatMap((svg) => {
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      return [...svg.querySelectorAll("text")].map((node) =>
        parseFloat(style(node).fontSize) * scale);
    })),
    charts: charts.length,
    tables: page.querySelectorAll("figure table").length,
    named: charts.filter((svg) => svg.getAttribute("role") === "img"
      && svg.getAttribute("aria-label").length > 30).length,
    text_contrast: text,
    chart_text_contrast: letters,
    mark_contrast: marks,
    letters_outside: outside,
    letters_overlapping: overlapping,
    background: style(page.body).backgroundColor,
    focusable_scrollers: scrolling.filter((node) => node.tabIndex === 0).length,
    scrollers: scrolling.length,
    headings: [...page.querySelectorAll("h1, h2, h3")].map((h) => Number(h.tagName[1])),
    links_to_nothing: [...page.querySelectorAll("a")].filter((link) =>
      !page.getElementById(link.getAttribute("href").slice(1))).length,
    loaded: page.defaultView.performance.getEntriesByType("resource").length,
  };
};

window.addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map(measure);
  document.querySelector("#found").textContent = JSON.stringify(found);
});
