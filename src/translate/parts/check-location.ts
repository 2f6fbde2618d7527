import { refuseType, refuseValue } from './invalid.ts'
import type { JsonObject } from './is-object.ts'

const MEMBERS = ['city', 'region', 'country', 'timezone'] as const

/** Checks where a web search is to take place, in the members that OpenAI and Anthropic share. @throws Fault `invalid_request` */
export function checkLocation(location: JsonObject, path: string): void {
  for (const member of MEMBERS) {
    const value = location[member]
    if (value !== undefined && value !== null && typeof value !== 'string') {
      refuseType(`${path}.${member}`, 'text', value)
    }
  }
}

/** @throws Fault `invalid_request` */
export function checkLocationType(type: unknown, path: string): void {
  if (type !== 'approximate') refuseValue(`${path}.type`, 'expected approximate', 'invalid_value')
}
