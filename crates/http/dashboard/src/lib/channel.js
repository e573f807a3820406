// What an account on a platform needs: the lines of its configuration, the command that writes them,
// and the names of its secrets.

/** A secret of an account, as `insula channels add` calls it: the first one as the account. */
export function secretName(platform, account, key) {
  const which = key === platform.secrets[0] ? "" : `_${key}`;
  return `${platform.platform}_${account}${which}`.replaceAll(/[^A-Za-z0-9]/g, "_").toUpperCase();
}

/** A text as YAML reads it back. */
const quoted = (text) => JSON.stringify(text);

/** The settings of an account, in the order of its platform. */
function settings(platform, account, values) {
  const named = [...platform.required, ...platform.optional].filter((key) => !platform.secrets.includes(key) && values[key]);
  const rest = named.map((key) => [key, quoted(values[key])]);
  return [...rest, ...platform.secrets.map((key) => [key, quoted(`\${secret:${secretName(platform, account, key)}}`)])];
}

/** Every account that stands in config.yaml: `[{platform, account, settings}]`. */
export function accountsOf(value) {
  const isMap = (it) => it !== null && typeof it === "object" && !Array.isArray(it);
  const all = isMap(value?.channels) ? Object.entries(value.channels) : [];
  return all.flatMap(([platform, of]) => (isMap(of?.accounts) ? Object.entries(of.accounts) : []).map(([account, settings]) => ({ platform, account, settings: isMap(settings) ? settings : {} })));
}

/** What writes an account into config.yaml, which says `value` by then. */
export function edits(platform, account, values, agent, value) {
  const named = Object.fromEntries([...platform.required, ...platform.optional].filter((key) => !platform.secrets.includes(key) && values[key]).map((key) => [key, values[key]]));
  const secrets = Object.fromEntries(platform.secrets.map((key) => [key, `\${secret:${secretName(platform, account, key)}}`]));
  const all = [{ path: ["channels", platform.platform, "accounts", account], value: { ...named, ...secrets } }];
  if (agent) all.push({ path: ["bindings", Array.isArray(value?.bindings) ? value.bindings.length : 0], value: { agent, [platform.platform]: { account } } });
  return all;
}

/** The lines to write into config.yaml. */
export function yaml(platform, account, values, agent) {
  const inside = settings(platform, account, values).map(([key, value]) => `${key}: ${value}`).join(", ");
  const lines = ["channels:", `  ${platform.platform}:`, "    accounts:", `      ${account}: {${inside}}`];
  if (agent) lines.push("bindings:", `  - {agent: ${agent}, ${platform.platform}: {account: ${account}}}`);
  return lines.join("\n");
}

const word = (text) => (/^[A-Za-z0-9_./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The command that writes the same. */
export function command(platform, account, values, agent) {
  const set = Object.entries(values).filter(([key, value]) => value && !platform.secrets.includes(key)).map(([key, value]) => ` --set ${word(`${key}=${value}`)}`);
  return `insula channels add ${platform.platform} --account ${word(account)}${set.join("")}${agent ? ` --agent ${word(agent)}` : ""}`;
}

/** Whether an account may be called so. */
export const isName = (text) => /^[a-z0-9][a-z0-9_-]{0,63}$/.test(text);

/** A name for one more account that none of these has. */
export function freeName(taken) {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? "main" : `main-${count}`;
    if (!taken.includes(name)) return name;
  }
}

/** Why an account may not be called so; null where it may. */
export function whyNot(name, taken) {
  if (!isName(name)) return "small letters, digits, - and _";
  return taken.includes(name) ? `there is an account \`${name}\` already; give another name` : null;
}
