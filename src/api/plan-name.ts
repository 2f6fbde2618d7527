/** By `copilot_plan` (docs/copilot-wire.md, "Account and quota"); `free` is added by `toCopilotAccount`. */
const planNames = new Map([
  ['free', 'Copilot Free'],
  ['individual', 'Copilot Pro'],
  ['individual_pro', 'Copilot Pro+'],
  ['individual_max', 'Copilot Max'],
  ['business', 'Copilot Business'],
  ['enterprise', 'Copilot Enterprise'],
])

/** By sku, for when only the token exchange has answered. From third-party lists; a guess for new skus. */
const skuNames: readonly (readonly [part: string, name: string])[] = [
  ['free_limited', 'Copilot Free'],
  ['free_educational', 'Copilot Pro (education)'],
  ['plus_', 'Copilot Pro+'],
  ['subscriber', 'Copilot Pro'],
  ['for_business', 'Copilot Business'],
  ['enterprise', 'Copilot Enterprise'],
]

/** By `chatgpt_plan_type` (docs/codex-wire.md, "Login"; OpenAI may change the list). */
const chatgptNames = new Map([
  ['free', 'ChatGPT Free'],
  ['go', 'ChatGPT Go'],
  ['plus', 'ChatGPT Plus'],
  ['pro', 'ChatGPT Pro'],
  ['team', 'ChatGPT Team'],
  ['business', 'ChatGPT Business'],
  ['enterprise', 'ChatGPT Enterprise'],
  ['edu', 'ChatGPT Edu'],
])

/** The marketing name, else OpenAI's identifier. */
export function chatgptPlanName(plan: string): string {
  return chatgptNames.get(plan) ?? `the ChatGPT plan ${plan}`
}

/** The marketing name, else GitHub's identifier in quotes. */
export function planName(plan: string): string {
  return planNames.get(plan) ?? `"${plan}"`
}

/** The plan of a sku; undefined for an unknown sku. */
export function planNameOfSku(sku: string | undefined): string | undefined {
  return skuNames.find(([part]) => sku?.includes(part))?.[1]
}
