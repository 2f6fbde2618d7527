/** Plans by `copilot_plan` (docs/copilot-wire.md, "Account and quota"), plus `free` as `toCopilotAccount` tells it. */
const planNames = new Map([
  ['free', 'Copilot Free'],
  ['individual', 'Copilot Pro'],
  ['individual_pro', 'Copilot Pro+'],
  ['individual_max', 'Copilot Max'],
  ['business', 'Copilot Business'],
  ['enterprise', 'Copilot Enterprise'],
])

/** Plans by sku, for when only the token exchange has answered. Third-party lists; a guess where GitHub adds one. */
const skuNames: readonly (readonly [part: string, name: string])[] = [
  ['free_limited', 'Copilot Free'],
  ['free_educational', 'Copilot Pro (education)'],
  ['plus_', 'Copilot Pro+'],
  ['subscriber', 'Copilot Pro'],
  ['for_business', 'Copilot Business'],
  ['enterprise', 'Copilot Enterprise'],
]

/** Plans by `chatgpt_plan_type`, in OpenAI's words (docs/codex-wire.md, "Login"; the list is OpenAI's to change). */
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

/** A plan in OpenAI's marketing words; one that is not known here keeps OpenAI's own word. */
export function chatgptPlanName(plan: string): string {
  return chatgptNames.get(plan) ?? `the ChatGPT plan ${plan}`
}

/** A plan in GitHub's marketing words; a plan that is not known here keeps GitHub's own word, in quotes. */
export function planName(plan: string): string {
  return planNames.get(plan) ?? `"${plan}"`
}

/** The plan an account's sku stands for, or undefined when it is not one of the known ones. */
export function planNameOfSku(sku: string | undefined): string | undefined {
  return skuNames.find(([part]) => sku?.includes(part))?.[1]
}
