/** Removes one kind of difference that a reader does not see. The texts of both sides are compared after it. */
interface Disguise {
  /** What differs, as the end of a sentence. */
  readonly name: string
  readonly remove: (text: string) => string
}

const disguises: readonly Disguise[] = [
  { name: 'the Unicode form of its letters', remove: (text) => text.normalize('NFC') },
  {
    name: 'invisible characters',
    remove: (text) => text.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ''),
  },
  {
    name: 'quotes',
    remove: (text) => text.replaceAll(/[\u2018-\u201b\u2032`\u00b4]/g, "'").replaceAll(/[\u201c-\u201f\u2033]/g, '"'),
  },
  { name: 'dashes', remove: (text) => text.replaceAll(/[\u2010-\u2015\u2212]/g, '-') },
  // All spaces of Unicode and tabs, also how many there are, and those at the end of the line.
  { name: 'spaces', remove: (text) => text.replaceAll(/[\p{Zs}\t\r]+/gu, ' ').trimEnd() },
]

/** Returns a text without the differences that a reader does not see. */
export function withoutDisguise(text: string): string {
  return disguises.reduce((plain, { remove }) => remove(plain), text)
}

/** Names the differences between two texts that are equal without them. */
export function disguisesBetween(one: string, other: string): readonly string[] {
  const needed = disguises.filter((each) => {
    const others = disguises.filter((disguise) => disguise !== each)
    const [a, b] = [one, other].map((text) => others.reduce((plain, { remove }) => remove(plain), text))
    return a !== b
  })
  return needed.map(({ name }) => name)
}
