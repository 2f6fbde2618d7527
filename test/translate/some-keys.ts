import { fc } from '../fast-check.ts'

/** An object that has some of these keys. */
export function some<Model>(model: { [Key in keyof Model]: fc.Arbitrary<Model[Key]> }) {
  return fc.record(model, { requiredKeys: [] })
}
