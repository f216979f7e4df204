// Formulas are indented blocks. Where a line has no room it continues below, further in than it began.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll(".highlight-none pre")) {
    const lines = block.textContent.replace(/\n$/, "").split("\n");
    block.classList.add("formula");
    block.replaceChildren(...lines.map((text) => {
      const line = document.createElement("span");
      line.style.setProperty("--indent", text.search(/\S|$/));
      line.textContent = text.trim() || "\u00a0";
      return line;
    }));
  }
});
