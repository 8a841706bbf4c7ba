"""The French glossary and stopwords: important words mean the right thing."""

from __future__ import annotations

import pytest
from tests.glossary_support import (
    stopwords,
    without_meaning,
    without_shared_meaning,
)


def test_important_words_mean_the_right_thing() -> None:
    expected = """
courriel = email
boîte de réception = inbox
pièce jointe = attachment
non lus = unread
réunion = meeting
rendez-vous = appointment
prise de rendez-vous = appointment
rappel = reminder
demain = tomorrow
fin de semaine = weekend
aujourd'hui = today
tableur = spreadsheet
dossier = folder
corbeille = trash
mot de passe = password
utilisateur = user
facture = invoice
devis = quote
fiche de paie = payroll
taux de change = exchange rate
remboursement = refund
commande = order
panier = cart
livraison = delivery
inventaire = inventory
mettre à jour = update
mise à jour = update
mettre en production = deploy
se désabonner = unsubscribe
tableau de bord = dashboard
jeter un œil = look
jeter un oeil = look
dépôt = repository
branche = branch
demande de fusion = merge request
déployer = deploy
base de données = database
serveur = server
sauvegarde = backup
clé api = api key
capture d'écran = screenshot
histogramme = bar chart
météo = weather
vol = flight
aller-retour = round trip
pharmacie = pharmacy
recette = recipe
effets secondaires = side effects
climatisation = air conditioner
allume la lumière = turn on light
sondage = survey
offre d'emploi = job posting
signature électronique = electronic signature
appartement à louer = rental
racine carrée = square root
réseau = network
"""
    assert without_meaning("fr", expected) == []


@pytest.mark.parametrize(
    "forms",
    [
        "envoyer, envoie, envoies, envoyez, envoie-moi, envoyez-moi, envoyé, envoyées, envoyant",
        "chercher, cherche, cherchez, cherche-moi, recherche, cherché",
        "montrer, montre, montre-moi, montrez, affiche, afficher",
        "supprimer, supprime, supprimez, supprimé, efface, effacer",
        "créer, crée, créez, crée-moi, créé, générer, génère",
        "réserver, réserve, réservez, réservation",
        "traduire, traduis, traduisez, traduit",
        "éteindre, éteins, éteignez, éteint",
        "acheter, achète, achetez, achète-moi, magasiner",
        "appeler, appelle, appelez, appelle-moi",
        "courriel, mail, email, e-mail, courriels",
        "week-end, weekend, fin de semaine",
        "clavarder, clavarde, discuter, tchatter",
        "portable, cellulaire, mobile",
        "voiture, auto, bagnole, char",
        "cœur, coeur",
        "argent, fric, thune",
    ],
)
def test_all_forms_and_regional_words_share_a_meaning(forms: str) -> None:
    assert without_shared_meaning("fr", forms) == []


def test_grammar_and_request_wording_are_stopwords() -> None:
    words = [
        "le",
        "les",
        "une",
        "de",
        "pour",
        "avec",
        "que",
        "s'il te plait",
        "je voudrais",
        "j'ai besoin de",
        "peux-tu",
        "pouvez-vous",
        "est-ce que",
        "c'est",
        "merci",
        "l'",
        "d'",
        "qu'",
        "j'",
    ]
    assert [word for word in words if word not in stopwords("fr")] == []
