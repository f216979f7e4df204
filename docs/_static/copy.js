// A button on every block of code, not on formulas. Of a session with prompts it copies what was typed.
document.addEventListener("DOMContentLoaded", () => {
  const typed = (text) => {
    const lines = text.replace(/\n$/, "").split("\n");
    if (!lines.some((line) => line.startsWith(">>> "))) return text;
    return lines.filter((line) => /^(>>>|\.\.\.)( |$)/.test(line)).map((line) => line.slice(4)).join("\n") + "\n";
  };
  for (const block of document.querySelectorAll("div.highlight")) {
    const code = block.querySelector("pre");
    if (!code || block.closest(".cell_output, .highlight-none")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    const say = (word) => {
      button.textContent = word;
      setTimeout(() => (button.textContent = "Copy"), 1500);
    };
    button.addEventListener("click", () => {
      const text = typed(code.textContent);
      if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => say("Copied"), () => say("Failed"));
      const area = document.createElement("textarea"); // pages opened from a file have no clipboard
      area.value = text;
      document.body.append(area);
      area.select();
      say(document.execCommand("copy") ? "Copied" : "Failed");
      area.remove();
    });
    block.append(button);
  }
});
