/** A refusal in words for users, and the one action that helps. */
export interface Explanation {
  readonly message: string
  readonly fix: string
}

const COPILOT_SETTINGS = 'https://github.com/settings/copilot'
const GITHUB_SUPPORT = 'https://support.github.com'

const noSubscription: Explanation = {
  message: 'This GitHub account has no Copilot plan.',
  fix: `Start a plan, or the free tier, at ${COPILOT_SETTINGS}, or log in with another account: copilot-proxy login`,
}
const notAnEditor: Explanation = {
  message: 'GitHub did not accept this program as an editor.',
  fix: 'Check copilot.headers in the configuration: user-agent, editor-version and editor-plugin-version must name an editor and be current',
}
const restrictedCountry: Explanation = {
  message: 'GitHub does not offer Copilot in the country of this account.',
  fix: `If the country is wrong, contact GitHub support: ${GITHUB_SUPPORT}`,
}

/**
 * Reasons in a 403 of the token exchange (`error_details.notification_id`). The ids are those in GitHub's own editor
 * client of March 2026; the wording is ours.
 */
const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  no_copilot_access: noSubscription,
  not_signed_up: noSubscription,
  subscription_ended: {
    message: 'The Copilot plan of this account has ended.',
    fix: `Renew it at ${COPILOT_SETTINGS}, or log in with another account: copilot-proxy login`,
  },
  enterprise_managed_user_account: {
    message: 'This account is managed by an enterprise that has not given it a Copilot seat.',
    fix: 'Ask the administrator of the enterprise for a seat; a managed account cannot buy its own',
  },
  feature_flag_blocked: {
    message: 'GitHub has not enabled Copilot for this account.',
    fix: `Ask your administrator or GitHub support: ${GITHUB_SUPPORT}`,
  },
  spammy_user: {
    message: 'GitHub has flagged this account.',
    fix: `Ask GitHub support to remove the flag: ${GITHUB_SUPPORT}`,
  },
  billing_locked: {
    message: 'Billing of this account is locked, usually after a failed payment.',
    fix: 'Update the payment at https://github.com/settings/billing',
  },
  trade_restricted: restrictedCountry,
  trade_restricted_country: restrictedCountry,
  codespaces_demo_inactive: {
    message: 'The Copilot trial inside Codespaces has ended.',
    fix: `Start a plan at ${COPILOT_SETTINGS}`,
  },
  snippy_not_configured: {
    message: 'The setting "Suggestions matching public code" has not been chosen for this account.',
    fix: `Choose Allow or Block at ${COPILOT_SETTINGS}`,
  },
  expired_coupon: {
    message: 'The coupon that paid for Copilot has expired.',
    fix: `Start a plan at ${COPILOT_SETTINGS}`,
  },
  revoked_coupon: {
    message: 'The coupon that paid for Copilot was withdrawn.',
    fix: `Start a plan at ${COPILOT_SETTINGS}`,
  },
  go_http_client: notAnEditor,
  programmatic_token_generation: notAnEditor,
  access_revoked: {
    message: 'GitHub has revoked Copilot for this account.',
    fix: `Ask GitHub support to restore it: ${GITHUB_SUPPORT}`,
  },
  server_error: {
    message: 'GitHub had an internal error while it checked the plan of this account.',
    fix: 'Try again in a few minutes; https://www.githubstatus.com shows known incidents',
  },
}

/** Undefined for an unknown id; show upstream's own message then. */
export function explainNotification(id: string): Explanation | undefined {
  return Object.hasOwn(EXPLANATIONS, id) ? EXPLANATIONS[id] : undefined
}
