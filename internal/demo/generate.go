package demo

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// The numbers of the demo data. They hold for every seed; order_items is a little under or over
// 96,000 depending on it.
const (
	Customers         = 50_000
	InactiveCustomers = 40_000 // last_login before 2025-01-01
	Products          = 2_000
	Orders            = 60_000
	CancelledOrders   = 13_200

	// TestTenant is the tenant of a few customers that the tour deletes. All are inactive.
	TestTenant          = "load-test"
	TestTenantCustomers = 8
	TestTenantOrders    = 320
)

// DefaultSeed is the seed when none is given.
const DefaultSeed uint64 = 1

// data is what goes into the four tables, as the text that COPY reads.
type data struct {
	customers, products, orders, orderItems bytes.Buffer
	items                                   int
}

var (
	inactiveUntil = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	firstDay      = time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)
	lastDay       = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
)

type customer struct {
	tenant             string
	created, lastLogin time.Time
}

// generate makes all rows. Every table draws from a stream of its own, so that a change of one
// does not change the others.
func generate(seed uint64) *data {
	d := &data{}
	customers := d.makeCustomers(rand.New(rand.NewPCG(seed, 1)))    //nolint:gosec // G404: repeatable on purpose, nothing here is a secret
	prices := d.makeProducts(rand.New(rand.NewPCG(seed, 2)))        //nolint:gosec // G404: as above
	d.makeOrders(rand.New(rand.NewPCG(seed, 3)), customers, prices) //nolint:gosec // G404: as above
	return d
}

func (d *data) makeCustomers(r *rand.Rand) []customer {
	all := make([]customer, Customers)
	// The order decides: the first are the test tenant, the first 40,000 are inactive.
	for rank, i := range r.Perm(Customers) {
		c := &all[i]
		c.tenant = pick(r, tenants)
		if rank < TestTenantCustomers {
			c.tenant = TestTenant
		}
		from, to := inactiveUntil, lastDay
		if rank < InactiveCustomers {
			from, to = firstDay.AddDate(1, 0, 0), inactiveUntil
		}
		c.lastLogin = between(r, from, to)
		c.created = between(r, firstDay, c.lastLogin)
	}
	for i, c := range all {
		first, last := pick(r, firstNames), pick(r, lastNames)
		name, domain := first+" "+last, pick(r, domains)
		email := fmt.Sprintf("%s.%s.%d@%s", lower(first), lower(last), i+1, domain)
		if c.tenant == TestTenant {
			name, email = fmt.Sprintf("Load Test %d", i+1), fmt.Sprintf("load.test.%d@example.com", i+1)
		}
		row(&d.customers, strconv.Itoa(i+1), c.tenant, name, email, pick(r, countries), stamp(c.created), stamp(c.lastLogin))
	}
	return all
}

// makeProducts returns the prices in cents, by id - 1.
func (d *data) makeProducts(r *rand.Rand) []int {
	prices := make([]int, Products)
	for i := range prices {
		prices[i] = 199 + 50*r.IntN(400) // 1.99 to 201.49
		name := pick(r, adjectives) + " " + pick(r, nouns)
		row(&d.products, strconv.Itoa(i+1), fmt.Sprintf("P-%05d", i+1), name, pick(r, categories), cents(prices[i]), strconv.Itoa(r.IntN(500)))
	}
	return prices
}

func (d *data) makeOrders(r *rand.Rand, customers []customer, prices []int) {
	var test, others []int
	for i, c := range customers {
		if c.tenant == TestTenant {
			test = append(test, i)
		} else {
			others = append(others, i)
		}
	}
	owners := make([]int, Orders)
	for i := range owners {
		if i < TestTenantOrders {
			owners[i] = test[i%len(test)]
		} else {
			owners[i] = others[r.IntN(len(others))]
		}
	}
	r.Shuffle(len(owners), func(i, j int) { owners[i], owners[j] = owners[j], owners[i] })
	cancelled := make([]bool, Orders)
	for rank, i := range r.Perm(Orders) {
		cancelled[i] = rank < CancelledOrders
	}
	for i, owner := range owners {
		c := customers[owner]
		status := "cancelled"
		if !cancelled[i] {
			status = pick(r, statuses)
		}
		n, total := 1, 0
		switch p := r.IntN(100); { // 1.6 items an order on average
		case p >= 85:
			n = 3
		case p >= 55:
			n = 2
		}
		for range n {
			d.items++
			product, quantity := r.IntN(Products), 1+r.IntN(4)
			total += quantity * prices[product]
			row(&d.orderItems, strconv.Itoa(d.items), strconv.Itoa(i+1), strconv.Itoa(product+1), strconv.Itoa(quantity), cents(prices[product]))
		}
		row(&d.orders, strconv.Itoa(i+1), strconv.Itoa(owner+1), status, cents(total), stamp(between(r, c.created, c.lastLogin)))
	}
}

// row writes one line of COPY's text format. No value of ours needs escaping: there is no tab, no
// line break and no backslash in any of them.
func row(b *bytes.Buffer, values ...string) {
	for i, v := range values {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(v)
	}
	b.WriteByte('\n')
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// between is a second in [from, to); from itself if there is none.
func between(r *rand.Rand, from, to time.Time) time.Time {
	seconds := int64(to.Sub(from) / time.Second)
	if seconds <= 0 {
		return from
	}
	return from.Add(time.Duration(r.Int64N(seconds)) * time.Second)
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05+00") }

func cents(n int) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }
