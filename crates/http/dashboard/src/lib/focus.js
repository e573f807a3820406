// Where one goes on by keyboard when what was pressed goes away: a browser leaves nobody anywhere then.
// In what is marked by `data-lands` that is what the mark selects; elsewhere the same card, what
// stands in that place now, or the page's heading. A window that is closed leads back to what opened it.

const CAN = 'a[href], button:not(:disabled), input:not(:disabled, [type="hidden"], [hidden]), select:not(:disabled), textarea:not(:disabled), summary, [tabindex="0"]';

/** What is known of whatever one is at, to find the way from there when it is gone. */
let last = null;
/** By window, where one was before it opened. */
const openers = new WeakMap();

/** A card that was gone, and where one is instead. */
let missed = null;
/** How long a card may be gone that moved. */
const AFTER_MS = 2_000;
/** How far around something what is next is looked for: further out it is the page's heading. */
const BOXES_MAX = 6;

const within = (box) => [...box.querySelectorAll(CAN)].filter((it) => it.getClientRects().length > 0);

/** Where something stands: in which boxes, and as the how-manieth of what can be gone to in each. */
function standing(of) {
  const boxes = [];
  for (let box = of.parentElement; boxes.length < BOXES_MAX && box && box.tagName !== "MAIN" && box !== document.body; box = box.parentElement) {
    boxes.push({ box, at: within(box).indexOf(of) });
    if (box.tagName === "DIALOG") break;
  }
  return { of, boxes, dialog: of.closest("dialog"), lands: of.closest("[data-lands]"), card: of.closest("[data-card]")?.dataset.card, isMenu: of.tagName === "SELECT" };
}

const isThere = (it) => it.isConnected && !it.disabled && it.getClientRects().length > 0;

/** A heading can be gone to, and is no stop on the way. */
function heading() {
  const it = document.querySelector("main h1");
  if (it) it.tabIndex = -1;
  return it;
}

/** From where something stood to what is next. */
function next({ of, boxes, dialog, lands, card, isMenu }) {
  if (isThere(of)) return of;
  if (dialog && !(dialog.isConnected && dialog.open)) return openers.has(dialog) ? next(openers.get(dialog)) : heading();
  const inChat = lands?.isConnected && (!dialog || dialog.contains(lands));
  // On glass it would bring up the keyboard that nobody asked for.
  if (inChat) return matchMedia("(pointer: coarse)").matches ? heading() : lands.querySelector(lands.dataset.lands);
  const moved = card && faceOf(card, isMenu);
  if (moved) return moved;
  for (const { box, at } of boxes) {
    const all = box.isConnected ? within(box) : [];
    if (all.length > 0) return all[Math.min(Math.max(at, 0), all.length - 1)];
  }
  return heading();
}

/** What can be gone to of a card, its menu where one was there. */
function faceOf(card, isMenu) {
  const face = document.querySelector(`[data-card="${CSS.escape(card)}"]`);
  return face && ((isMenu && face.querySelector("select")) || within(face)[0]);
}

function goTo(there) {
  last = null;
  there.focus({ preventScroll: !there.closest("[data-card]") });
  if (document.activeElement === there) last ??= standing(there);
}

/** A card that moved may be seen nowhere for a moment: one comes to it as soon as it is there. */
function goAfter({ card, isMenu, there, until }) {
  if (performance.now() > until || document.activeElement !== there) missed = null;
  else if (faceOf(card, isMenu)) goTo(faceOf(card, isMenu));
}

function look() {
  if (missed !== null) goAfter(missed);
  if (last === null || isThere(last.of)) return;
  const now = document.activeElement;
  // Somebody has gone elsewhere, or has been brought there.
  if (now !== null && now !== document.body && now !== last.of) return;
  const from = last;
  const there = next(from) ?? null;
  last = null;
  if (there === null) return;
  const { card, isMenu } = from.dialog && openers.has(from.dialog) ? openers.get(from.dialog) : from;
  goTo(there);
  if (card && there.closest("[data-card]")?.dataset.card !== card) missed = { card, isMenu, there, until: performance.now() + AFTER_MS };
}

export function start() {
  addEventListener("focusin", ({ target }) => {
    if (target === document.body || !(target instanceof Element)) return;
    const dialog = target.closest("dialog");
    if (dialog && !openers.has(dialog) && last && last.dialog !== dialog) openers.set(dialog, last);
    last = standing(target);
  });
  // Who presses beside everything is nowhere on purpose.
  addEventListener("pointerdown", ({ target }) => {
    if (!target.closest?.(CAN)) last = null;
  });
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
}
