package approvalui_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestFieldG92ANewPlanIsNoticed: with the page in the background a new plan is counted in the title and
// the icon without a reload, and a notification, where the person allowed them, names no table and no
// SQL. Without the permission title and icon stay.
func TestFieldG92ANewPlanIsNoticed(t *testing.T) {
	for _, permission := range []string{"granted", "denied", "default"} {
		b := setup(t)
		ctx := b.browse()
		watch(t, ctx, b)
		do(t, ctx, chromedp.Navigate(b.page.SecretURL()))
		until(t, ctx, `document.querySelector('.state')?.textContent.includes('Live')`)
		eval[bool](t, ctx, `(() => {
			window.told = [];
			window.Notification = class { constructor(title, options) { window.told.push(title + ' ' + JSON.stringify(options)); } close() {} };
			window.Notification.permission = '`+permission+`';
			Object.defineProperty(document, 'hidden', { get: () => true });
			return true;
		})()`)
		b.add(dropColumn())
		until(t, ctx, `document.title === '(1) Approvals: shop' && document.getElementById('icon').getAttribute('href').endsWith('icon-1.svg')`)
		b.add(cascade())
		until(t, ctx, `document.title === '(2) Approvals: shop'`)
		told := eval[string](t, ctx, `window.told.join('\n')`)
		if permission != "granted" {
			require.Empty(t, told, permission)
			continue
		}
		require.Equal(t, 2, strings.Count(told, "A plan waits in shop"))
		for _, secret := range []string{"orders", "customers", "DELETE", "DROP", "ALTER", "total_amount", "URGENT"} {
			require.NotContains(t, told, secret)
		}
	}
}
