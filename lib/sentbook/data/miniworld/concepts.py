"""The tables of the mini-world: what there is, and the words for it.

A noun or a modifier is ``name | path in the taxonomy | surfaces``; a verb has its object's class before the surfaces
(``-``: none, ``agents``: whoever acts, else a table of objects). Surfaces of one row mean the same. In a verb's surface
the first word is inflected and ``~`` is the object's place, which follows the verb where it is not written. A modifier
of several words stands after its noun. Rows stand from frequent to rare.
"""

from __future__ import annotations

PEOPLE = {
    "agents": """
        man | person/adult/male | man, guy, gentleman
        woman | person/adult/female | woman, lady
        boy | person/child/male | boy, lad, young fellow
        girl | person/child/female | girl, lass
        doctor | person/worker/health | doctor, physician, medic
        boss | person/worker/chief | boss, manager, big cheese
        friend | person/kin/friend | friend, buddy, pal
        teacher | person/worker/school | teacher, instructor
        officer | person/worker/law | police officer, cop
        baby | person/child/small | baby, infant
        expert | person/type/skill | expert, old hand, veteran
        novice | person/type/skill | novice, beginner, greenhorn
        idler | person/type/idle | idler, couch potato, loafer
        outcast | person/type/social | outcast, black sheep, misfit
        nurse | person/worker/health | nurse, carer
        thief | person/type/crime | thief, crook, burglar
    """,
    "things": """
        offer | idea/speech/deal | offer, proposal
        letter | thing/text/mail | letter, note
        gift | thing/goods/gift | gift, present
        book | thing/text/book | book, volume, novel
        plan | idea/speech/plan | plan, scheme
        toy | thing/goods/play | toy, plaything
        car | thing/machine/car | car, automobile
        phone | thing/machine/phone | phone, mobile
        coat | thing/goods/wear | coat, jacket
    """,
    "verbs": """
        reject | act/decide/choice | things | reject, turn ~ down, refuse
        care | act/social/help | agents | care for, look after, tend
        seek | act/search/look | things | seek, look for, search for
        meet | act/social/contact | agents | meet, run into, bump into
        accept | act/decide/choice | things | accept, say yes to, agree to
        discard | act/transfer/away | things | discard, throw ~ away, get rid of
        find | act/search/find | things | find, come across, discover
        arrive | move/arrive/self | - | arrive, turn up, show up
        leave | move/leave/self | - | leave, hit the road, depart
        sleep | body/rest/sleep | - | sleep, hit the sack, nod off
        bully | act/social/harm | agents | bully, pick on, torment
        admire | act/regard/view | agents | admire, look up to, respect
        despise | act/regard/view | agents | despise, look down on, scorn
        disappoint | act/social/harm | agents | disappoint, let ~ down
        donate | act/transfer/away | things | donate, give ~ away
        quit | act/decide/end | - | quit, give up, throw in the towel
        laugh | body/voice/laugh | - | laugh, crack up, giggle
        weep | body/voice/weep | - | weep, cry, sob
        raise | act/social/help | agents | raise, bring ~ up, rear
        trick | act/social/harm | agents | trick, take ~ in, deceive
    """,
    "places": """
        street | place/town/outside | in the street, on the road
        home | place/house/inside | at home, in the house
        park | place/green/outside | in the park, on the green
        office | place/labour/inside | at the office, at work
        school | place/town/inside | at school, in the classroom
        hospital | place/town/inside | at the hospital, in the clinic
        garden | place/house/outside | in the garden, in the yard
    """,
}

ANIMALS = {
    "agents": """
        dog | animal/mammal/pet | dog, hound, canine
        cat | animal/mammal/pet | cat, feline, tabby
        horse | animal/mammal/farm | horse, mare, steed
        cow | animal/mammal/farm | cow, heifer
        pig | animal/mammal/farm | pig, hog, swine
        sheep | animal/mammal/farm | ewe, ram
        bird | animal/bird/small | bird, sparrow
        lion | animal/mammal/wild | lion, big cat
        cavy | animal/mammal/pet | cavy, guinea pig
        seal | animal/mammal/sea | seal, sea lion
        owl | animal/bird/hunter | owl, bird of prey
        duck | animal/bird/water | duck, drake
        farmer | person/worker/farm | farmer, rancher
        puppy | animal/mammal/pet | puppy, whelp
        elephant | animal/mammal/wild | elephant, jumbo
        koala | animal/mammal/wild | koala, native bear
        insect | animal/insect/small | bug, beetle
    """,
    "things": """
        ball | thing/goods/play | ball, sphere
        bone | thing/goods/food | bone, rib
        stick | thing/wood/small | stick, branch, twig
        hay | food/plant/feed | hay, fodder
        fence | thing/wood/wall | fence, barrier
        carrot | food/plant/root | carrot, root vegetable
        box | thing/goods/box | box, crate
    """,
    "verbs": """
        chase | move/follow/fast | agents | chase, run after, pursue
        eat | body/intake/eat | things | eat, tuck into, devour
        bite | act/attack/touch | agents | bite, sink its teeth into, nip
        lift | act/hold/up | things | lift, pick ~ up, raise
        drop | act/hold/down | things | drop, let go of, release
        flee | move/leave/fast | - | flee, run away, take to its heels
        rest | body/rest/lie | - | rest, lie down, take it easy
        attack | act/attack/fight | agents | attack, set upon, go for
        fetch | act/transfer/here | things | fetch, bring ~ back, retrieve
        hide | act/still/hide | - | hide, lie low
        jump | move/up/self | - | jump, leap, bound
        sniff | body/sense/smell | things | sniff, smell
        watch | body/sense/see | agents | watch, keep an eye on, observe
        follow | move/follow/slow | agents | follow, go behind, trail
        play | act/fun/self | - | play, fool around, frolic
        starve | body/health/end | - | die, kick the bucket, pass away
    """,
    "places": """
        field | place/green/farm | in the field, in the meadow
        river | place/water/river | by the river, at the water
        barn | place/farm/inside | in the barn, in the stable
        forest | place/green/wild | in the forest, in the woods
        beach | place/water/sea | on the beach, on the sand
        cage | place/zoo/inside | in the cage, behind bars
        hill | place/green/high | on the hill, on the slope
    """,
}

KITCHEN = {
    "agents": """
        cook | person/worker/food | cook, chef
        waiter | person/worker/food | waiter, server
        mother | person/kin/parent | mother, mom
        father | person/kin/parent | father, dad
        guest | person/kin/guest | guest, visitor, diner
        baker | person/worker/food | baker, bread maker
        child | person/child/any | child, kid, youngster
        grandmother | person/kin/old | grandmother, granny
        trainee | person/worker/learn | trainee, apprentice
        host | person/kin/guest | host, party giver
    """,
    "things": """
        soup | food/dish/wet | soup, broth
        bread | food/dish/baked | bread, loaf
        frankfurter | food/dish/meat | frankfurter, hot dog
        potato | food/plant/root | potato, spud
        chips | food/dish/fried | french fry, potato chip
        yam | food/plant/root | yam, sweet potato
        cake | food/dish/sweet | cake, gateau
        candy | food/dish/sweet | candy floss, spun sugar
        cheese | food/milk/solid | cheese, cheddar
        fish | food/meat/sea | fish, trout
        bean | food/plant/seed | bean, legume
        egg | food/animal/egg | egg, omelette
        onion | food/plant/root | onion, shallot
        meat | food/meat/land | meat, beef, steak
        pepper | food/plant/spice | pepper, chilli
        water | food/drink/plain | water, drink
        wine | food/drink/strong | wine, claret
        aubergine | food/plant/fruit | aubergine, eggplant
    """,
    "tools": """
        oven | thing/machine/heat | oven, stove, cooker
        pan | thing/tool/pot | pan, skillet
        flame | thing/heat/fire | flame, fire
        knife | thing/tool/blade | knife, blade
        light | thing/machine/lamp | lamp, light
        plate | thing/tool/dish | plate, dish
    """,
    "verbs": """
        cut | act/change/blade | things | cut ~ up, chop, slice
        boil | act/change/heat | things | boil, stew, simmer
        taste | body/sense/taste | things | taste, sample, try ~ out
        eat | body/intake/eat | things | eat, polish ~ off, devour
        switch_on | act/control/switch | tools | switch ~ on, turn ~ on, start
        switch_off | act/control/switch | tools | switch ~ off, turn ~ off, stop
        clean | act/change/wash | tools | clean, wash ~ up, scrub
        serve | act/transfer/here | things | serve, dish ~ up, hand ~ out
        mix | act/change/mix | things | mix, stir, blend
        fry | act/change/heat | things | fry, brown
        waste | act/transfer/away | things | waste, throw ~ out, bin
        extinguish | act/control/fire | tools | extinguish, put ~ out
        grab | act/hold/take | tools | grab, take hold of, seize
        celebrate | act/fun/self | - | celebrate, have a ball, party
        wait | act/still/wait | - | wait, hang around, linger
        fail | act/break/self | - | fail, fall apart, break down
    """,
    "places": """
        kitchen | place/house/inside | in the kitchen, by the stove
        restaurant | place/town/inside | at the restaurant, in the diner
        table | place/house/table | at the table, on the counter
        cellar | place/house/low | in the cellar, in the basement
        terrace | place/house/outside | on the terrace, on the patio
        market | place/town/outside | at the market, in the bazaar
    """,
}

SPORT = {
    "agents": """
        player | person/sport/team | player, athlete, team member
        goalkeeper | person/sport/guard | goalkeeper, goalie, keeper
        coach | person/sport/chief | coach, trainer
        champion | person/sport/best | champion, top dog, winner
        underdog | person/sport/low | underdog, dark horse, outsider
        runner | person/sport/run | runner, sprinter, jogger
        swimmer | person/sport/water | swimmer, diver
        referee | person/sport/judge | referee, umpire
        fan | person/crowd/fan | fan, supporter
        boxer | person/sport/fight | boxer, fighter
        rival | person/sport/other | rival, opponent
        rookie | person/sport/new | rookie, new kid on the block
        cyclist | person/sport/wheel | cyclist, biker
    """,
    "things": """
        match | event/sport/match | match, game
        race | event/sport/run | race, sprint
        title | idea/prize/title | title, crown
        ball | thing/goods/play | ball, sphere
        cup | thing/prize/cup | cup, trophy
        lead | idea/score/lead | lead, advantage
        record | idea/score/best | record, best mark
        contract | idea/speech/deal | contract, deal
        training | event/sport/learn | training, practice
    """,
    "verbs": """
        beat | act/win/over | agents | beat, get the better of, defeat
        win | act/win/prize | things | win, walk away with, clinch
        lose | act/win/prize | things | lose, blow, miss out on
        kick | act/touch/foot | agents | kick, boot
        tackle | act/touch/body | agents | tackle, bring ~ down
        cancel | act/plan/stop | things | cancel, call ~ off, scrap
        delay | act/plan/late | things | delay, put ~ off, postpone
        surrender | act/decide/end | - | surrender, throw in the towel, give in
        hurry | move/run/fast | - | hurry, step on it, rush
        stun | act/touch/fight | agents | stun, knock ~ out, floor
        cheer | body/voice/cheer | agents | cheer ~ on, root for, applaud
        mock | body/voice/mock | agents | mock, make fun of, jeer at
        exercise | body/sport/self | - | exercise, work out, train
        replace | act/control/swap | agents | replace, take over from, stand in for
        warm | body/sport/start | - | stretch, warm up, loosen up
        lag | move/run/slow | - | lag, fall behind, trail
    """,
    "places": """
        stadium | place/sport/big | in the stadium, at the arena
        pitch | place/sport/grass | on the pitch, on the grass
        track | place/sport/run | on the track, on the course
        pool | place/water/pool | in the pool, in the water
        gym | place/sport/inside | in the gym, at the fitness club
        ring | place/sport/fight | in the ring, on the mat
    """,
}

HEADLINES = {
    "agents": """
        president | person/power/head | president, head of state
        minister | person/power/member | minister, cabinet member
        company | group/business/firm | company, firm, business
        court | group/law/court | court, tribunal
        bank | group/business/money | bank, lender
        union | group/labour/union | union, labor group
        rebel | group/war/rebel | rebel, insurgent
        army | group/war/state | army, armed force
        senator | person/power/member | senator, lawmaker
        protester | person/crowd/protest | protester, demonstrator
        weakling | person/power/weak | lame duck, weak leader
        investor | person/business/money | investor, shareholder
        airline | group/business/air | airline, air carrier
        tycoon | person/business/head | tycoon, fat cat
    """,
    "things": """
        deal | idea/speech/deal | deal, agreement, pact
        law | idea/law/rule | law, bill
        tax | idea/money/tax | tax, levy
        strike | event/labour/strike | strike, walkout
        bureaucracy | idea/law/slow | bureaucracy, red tape
        election | event/power/vote | election, vote, poll
        scandal | event/bad/shame | scandal, affair
        budget | idea/money/plan | budget, spending plan
        dismissal | event/labour/end | dismissal, pink slip
        failure | idea/money/loss | costly failure, white elephant
        talks | event/speech/talk | summit, meeting
    """,
    "verbs": """
        reject | act/decide/choice | things | reject, turn ~ down, rebuff
        approve | act/decide/choice | things | approve, give the green light to, back
        probe | act/search/look | things | probe, look into, investigate
        urge | act/speech/press | agents | urge, call on, press
        postpone | act/plan/late | things | postpone, put ~ off, delay
        cancel | act/plan/stop | things | cancel, call ~ off, axe
        accuse | act/speech/blame | agents | accuse, point the finger at, blame
        topple | act/power/end | agents | topple, bring ~ down, oust
        support | act/power/help | agents | support, stand by, back
        resign | act/decide/end | - | resign, step down, quit
        yield | act/war/end | - | yield, give in, wave the white flag
        reveal | act/speech/open | things | reveal, spill the beans on, disclose
        conceal | act/speech/closed | things | conceal, cover ~ up, sweep ~ under the rug
        fire | act/labour/end | agents | fire, let ~ go, sack
        hire | act/labour/start | agents | hire, take ~ on, recruit
        collapse | act/break/self | - | collapse, go under, go bust
        rise | move/up/self | - | rise, take off, soar
        fall | move/down/self | - | fall, go south, slump
    """,
    "places": """
        capital | place/town/state | in the capital, at the seat of power
        north | place/land/side | in the north, up north
        south | place/land/side | in the south, down south
        abroad | place/land/far | abroad, in foreign parts
        parliament | place/power/house | in parliament, in the chamber
        border | place/land/edge | at the border, on the frontier
    """,
}

TRAVEL = {
    "agents": """
        tourist | person/travel/guest | tourist, holidaymaker
        driver | person/travel/lead | driver, man at the wheel
        plane | thing/vehicle/air | plane, aircraft, jet
        train | thing/vehicle/rail | train, locomotive
        bus | thing/vehicle/road | bus, coach
        pilot | person/travel/air | pilot, captain
        ship | thing/vehicle/sea | ship, vessel
        sailor | person/travel/sea | sailor, old salt, seaman
        guide | person/travel/lead | guide, tour leader
        cab | thing/vehicle/road | taxi, cab
        motorist | person/travel/road | motorist, road hog
        hiker | person/travel/foot | hiker, walker
    """,
    "things": """
        bag | thing/goods/bag | bag, suitcase
        ticket | thing/text/ticket | ticket, pass
        map | thing/text/map | map, chart
        trip | event/travel/trip | trip, journey
        hotel | place/town/bed | hotel, inn
        bridge | thing/road/bridge | bridge, overpass
        flight | event/travel/air | flight, air trip
        cabin | thing/house/small | cabin, hut
    """,
    "verbs": """
        depart | move/leave/start | - | depart, take off, set out
        land | move/arrive/air | - | land, touch down, get in
        book | act/deal/book | things | book, reserve
        miss | act/deal/miss | things | miss, fail to catch
        carry | act/hold/carry | things | carry, haul, lug
        pass | move/beyond/past | agents | pass, overtake, get ahead of
        hit | act/touch/crash | agents | hit, crash into, slam into
        stop | move/end/self | - | halt, pull up, come to rest
        speed | move/run/fast | - | race, speed, put the pedal to the metal
        visit | move/arrive/see | things | visit, drop in on, stop by at
        check | act/search/look | things | check, go over, inspect
        rob | act/transfer/crime | agents | rob, hold ~ up, mug
        await | act/still/wait | agents | await, wait for
        crash | act/break/self | - | crash, break down
    """,
    "places": """
        airport | place/travel/air | at the airport, in the terminal
        station | place/travel/rail | at the station, on the platform
        harbor | place/water/ship | in the harbor, at the port
        mountain | place/land/high | in the mountains, on the peak
        city | place/town/big | in the city, downtown
        island | place/water/land | on the island, on the isle
        highway | place/road/fast | on the highway, on the motorway
    """,
}

DOMAIN_TABLES = {
    "people": PEOPLE,
    "animals": ANIMALS,
    "kitchen": KITCHEN,
    "sport": SPORT,
    "headlines": HEADLINES,
    "travel": TRAVEL,
}

ATTRIBUTES = {
    "animate": """
        young | age/low | young, youthful
        old | age/high | old, elderly, long in the tooth
        happy | mood/good | happy, glad, over the moon
        sad | mood/bad | sad, unhappy, down in the dumps
        small | size/low | small, little, tiny
        big | size/high | big, large
        ill | health/low | ill, sick, under the weather
        healthy | health/high | healthy, fit, in good shape
        angry | mood/hot | angry, furious, hot under the collar
        calm | mood/cool | calm, relaxed, cool as a cucumber
        tired | energy/low | tired, weary, worn out
        rich | wealth/high | rich, wealthy, well off
        poor | wealth/low | poor, needy, hard up
        clever | mind/high | clever, smart, quick on the uptake
        foolish | mind/low | foolish, silly, slow on the uptake
    """,
    "thing": """
        big | size/high | big, large
        small | size/low | small, little, tiny
        new | age/new | new, fresh, hot off the press
        ancient | age/high | old, worn
        costly | price/high | expensive, dear, worth an arm and a leg
        cheap | price/low | cheap, inexpensive, going for a song
        red | color/warm | red, crimson
        blue | color/cold | blue, azure
        white | color/pale | white, pale
        hot | heat/high | hot, warm
        cold | heat/low | cold, cool
        perfect | worth/high | perfect, flawless, second to none
        bad | worth/low | bad, poor, not up to scratch
    """,
}

MANNERS = """
    quickly | speed/high | quickly, fast, in no time
    slowly | speed/low | slowly, at a snail's pace
    suddenly | surprise/high | suddenly, out of the blue, all of a sudden
    often | times/high | often, frequently, time and again
    rarely | times/low | rarely, seldom, once in a blue moon
    secretly | light/low | secretly, behind closed doors, on the quiet
    openly | light/high | openly, in public
    gladly | will/high | gladly, with pleasure
    grudgingly | will/low | grudgingly, against the grain
"""

# Their words keep the same company, so word vectors confuse them, but the meanings exclude each other.
ANTONYMS = """
    reject accept, reject approve, seek find, arrive leave, bully care, admire despise, laugh weep, lift drop,
    switch_on switch_off, win lose, cheer mock, topple support, reveal conceal, fire hire, rise fall, depart land,
    expert novice, champion underdog, boy girl, man woman, mother father, north south, boil fry, hide flee, depart stop,
    young old, happy sad, small big, ill healthy, angry calm, rich poor, clever foolish, new ancient, costly cheap,
    red blue, hot cold, perfect bad, quickly slowly, often rarely, secretly openly, gladly grudgingly, chase flee,
    serve waste, lag hurry, surrender exercise, doctor outcast, postpone cancel, accuse support, hit pass, book miss
"""

# Words of the most general kinds, for what follows from a scene: "a dog runs" entails "an animal runs".
HYPERNYMS = {
    "person": "person, human being", "person/child": "child, kid", "person/worker": "worker, employee",
    "person/kin": "relative or friend", "person/sport": "sportsman", "person/travel": "traveler",
    "person/power": "politician", "animal": "animal, creature", "animal/mammal": "mammal",
    "animal/bird": "feathered animal",
    "group": "organization", "group/business": "business", "thing": "object, thing", "thing/text": "piece of writing",
    "thing/vehicle": "vehicle", "food": "food", "idea": "matter", "event": "event",
}  # fmt: skip
