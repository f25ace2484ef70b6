/** Reading one setting, from a flag or from the environment. */

/**
 * The value, or undefined when nothing is set. The texts "None" and "null" and the empty one count as nothing:
 * clients fill a template with them where they have no value.
 */
export function setting(value: string | undefined): string | undefined {
  const text = value?.trim();
  return text === undefined || text === "" || /^(none|null)$/i.test(text) ? undefined : text;
}
