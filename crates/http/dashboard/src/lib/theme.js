// Dark or light: as the system says, or as was chosen here.
import { effect, signal } from "@preact/signals";

const KEY = "insula.theme";
const CHOICES = ["system", "light", "dark"];

const kept = localStorage.getItem(KEY);
export const theme = signal(CHOICES.includes(kept) ? kept : "system");

export function next() {
  theme.value = CHOICES[(CHOICES.indexOf(theme.value) + 1) % CHOICES.length];
}

export function start() {
  effect(() => {
    localStorage.setItem(KEY, theme.value);
    if (theme.value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
  });
}
